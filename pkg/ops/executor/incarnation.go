package executor

import (
	"context"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/helperpod"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// returnToIncarnation ends what loads a backup into the new incarnation's volume, and
// writes the former founding into the cluster.
func (l *Executor) returnToIncarnation(ctx context.Context, s ops.State) error {
	for _, h := range s.Kube.Helpers {
		if h.Purpose != helperpod.PurposeLoad {
			continue
		}
		if err := helperpod.Delete(ctx, l.Client, l.Namespace, h.Name); err != nil {
			return fmt.Errorf("remove loader pod %s: %w", h.Name, err)
		}
	}
	return l.change(ctx, func(c *v1alpha1.DatabaseCluster) { ops.ReturnToIncarnation(c, s.Operation) })
}
