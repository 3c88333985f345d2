package pruning

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/backups"
)

// NoteDeleted has a cluster tell no more of backups that were deleted from a repository. It writes only what changes,
// and does nothing where the cluster is gone.
func NoteDeleted(ctx context.Context, s store.Store, namespace, cluster, repository string, ids []string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ops.SaveGrace)
	defer cancel()
	err := ops.Retry(ctx, func() error {
		c, err := s.GetCluster(ctx, namespace, cluster)
		if err != nil {
			return err
		}
		before := c.Status.DeepCopy()
		backups.Forget(c, repository, ids)
		if equality.Semantic.DeepEqual(before, &c.Status) {
			return nil
		}
		return s.UpdateCluster(ctx, c)
	}, kube.ErrNotFound)
	if err != nil && !errors.Is(err, kube.ErrNotFound) {
		return fmt.Errorf("the backups are deleted; note that on cluster %s/%s: %w", namespace, cluster, err)
	}
	return nil
}
