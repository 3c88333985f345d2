package runner

import (
	"context"
	"errors"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// SetPaused writes into a cluster who asks that nobody acts on it, or, with
// nil, that anybody may again. It reports whether that is new. It takes no
// lease: its holder is to see this.
func SetPaused(ctx context.Context, store store.Store, namespace, name string, by *v1alpha1.Pause) (bool, error) {
	for try := 1; ; try++ {
		c, err := store.GetCluster(ctx, namespace, name)
		if err != nil || (try == 1 && c.Spec.Paused == (by != nil)) {
			return false, err
		}
		c.Spec.Paused, c.Status.Pause = by != nil, by
		err = store.UpdateCluster(ctx, c)
		if !errors.Is(err, kube.ErrConflict) || try == ops.Attempts {
			return err == nil, err
		}
	}
}
