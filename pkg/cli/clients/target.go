package clients

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
)

// Target is the cluster that a command speaks of.
type Target struct {
	Namespace string
	Cluster   *v1alpha1.DatabaseCluster
	Engine    engine.Engine
	Store     store.Store
	// Lost: the record is missing, and cluster is what its copy says.
	Lost bool
}

// Subject is TYPE/name.
func (t *Target) Subject() string { return t.Cluster.Spec.Engine + "/" + t.Cluster.Name }
