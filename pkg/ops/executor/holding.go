package executor

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// Holding has a world ask for the lease right before every request that
// deletes: a step may make many, and a process can stop between two.
func Holding(w ops.Cluster, lease lease.Lease) {
	if l, ok := w.(*Executor); ok {
		l.Client = l.Client.CheckBeforeDelete(lease.Check)
	}
}
