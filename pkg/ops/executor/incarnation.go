package executor

import (
	"context"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/helperpod"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation"
)

// beginIncarnation ends the life of the cluster's data, and names the volumes that stay.
func (l *Executor) beginIncarnation(ctx context.Context, t task) (ops.Result, error) {
	return ops.Result{Facts: operation.KeptVolumes(t.State, t.Member())}, l.change(ctx, func(c *v1alpha1.DatabaseCluster) {
		// A lost answer must not count two incarnations for one restore.
		if !ops.IncarnationStartedBy(t.Operation, c.Status.Bootstrap.Token) {
			ops.BeginIncarnation(c, t.Operation, t.FreeName(), t.Member())
		}
	})
}

// returnToIncarnation ends what loads a backup into the new incarnation's volume, and
// writes the former founding into the cluster. The volume of a former member that was taken over, and can go back, goes
// back first. It names the volumes that stay behind when a restore is taken back.
func (l *Executor) returnToIncarnation(ctx context.Context, t task) (ops.Result, error) {
	for _, h := range t.Kube.Helpers {
		if h.Purpose != helperpod.PurposeLoad {
			continue
		}
		if err := helperpod.Delete(ctx, l.Client, l.Namespace, h.Name); err != nil {
			return ops.Result{}, fmt.Errorf("remove loader pod %s: %w", h.Name, err)
		}
	}
	if f := t.Bootstrap(); f.InPlace == v1alpha1.InPlaceReverted {
		before := t.State
		before.Cluster = t.Cluster.DeepCopy()
		ops.ReturnToIncarnation(before.Cluster, t.Operation)
		if err := l.takeOver(ctx, before, f.Members[0]); err != nil {
			return ops.Result{}, err
		}
	}
	return ops.Result{Facts: operation.LeftVolumes(t.State)},
		l.change(ctx, func(c *v1alpha1.DatabaseCluster) { ops.ReturnToIncarnation(c, t.Operation) })
}
