package ops

import (
	"context"
	"errors"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// paused keeps everybody from acting on a cluster that a person paused. A loop
// on its way meets it before its next step, gives its lease back and leaves a
// paused record.
func (p planner) paused() *Decision {
	if !p.s.Cluster.Spec.Paused {
		return nil
	}
	return block(&Error{Kind: Refused, Check: "paused", Message: p.s.Cluster.Name + " is paused: a person asked that nobody acts on it",
		Hint: "kubectl dbop resume " + p.s.Cluster.Name + " lifts that, and continues what is in flight"})
}

// SetPaused writes into a cluster whether anybody may act on it, and reports
// whether that is new. It takes no lease: whoever holds it is to see this.
func SetPaused(ctx context.Context, store kube.Store, namespace, name string, paused bool) (bool, error) {
	for try := 1; ; try++ {
		c, err := store.GetCluster(ctx, namespace, name)
		if err != nil || c.Spec.Paused == paused {
			return false, err
		}
		c.Spec.Paused = paused
		err = store.UpdateCluster(ctx, c)
		if !errors.Is(err, kube.ErrConflict) || try == attempts {
			return err == nil, err
		}
	}
}
