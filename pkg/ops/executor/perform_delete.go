package executor

import (
	"context"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// deleteAll deletes the objects of the cluster but its volumes and its record.
func (l *Executor) deleteAll(ctx context.Context, t task) (ops.Result, error) {
	if err := workload.DeleteClusterObjects(ctx, l.Client, t.Cluster); err != nil {
		return ops.Result{}, err
	}
	return fact(v1alpha1.FactObjectsDeleted, "true")
}

func (l *Executor) deleteLeftovers(ctx context.Context, t task) error {
	return workload.DeleteLeftovers(ctx, l.Client, t.Cluster)
}

// forget deletes the record of the cluster.
func (l *Executor) forget(ctx context.Context, t task) error {
	return ops.IgnoreNotFound(l.Store.DeleteCluster(ctx, t.Cluster))
}
