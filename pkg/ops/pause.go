package ops

import (
	"context"
	"errors"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// paused keeps everybody from acting on a cluster that a person paused. A loop
// on its way meets it before its next step, gives its lease back and leaves a
// paused record.
func (p planner) paused() *Decision {
	if !p.s.Cluster.Spec.Paused {
		return nil
	}
	return block(&Error{Kind: Refused, Check: "paused", Message: fmt.Sprintf("%s is paused: %s asked that nobody acts on it", p.s.Cluster.Name, pausedBy(p.s.Cluster)),
		Hint: "kubectl dbop resume " + p.s.Cluster.Name + " lifts that, and continues what is in flight"})
}

// pausedBy names the person, as far as they are known: an edit of a custom
// resource has no name on it.
func pausedBy(c *v1alpha1.DatabaseCluster) string {
	p := c.Status.Pause
	if p == nil {
		return "a person"
	}
	return fmt.Sprintf("%s@%s, at %s,", orUnknown(p.By), orUnknown(p.From), moment(p.At.Time))
}

// SetPaused writes into a cluster who asks that nobody acts on it, or, with
// nil, that anybody may again. It reports whether that is new. It takes no
// lease: whoever holds it is to see this.
func SetPaused(ctx context.Context, store kube.Store, namespace, name string, by *v1alpha1.Pause) (bool, error) {
	for try := 1; ; try++ {
		c, err := store.GetCluster(ctx, namespace, name)
		if err != nil || (try == 1 && c.Spec.Paused == (by != nil)) {
			return false, err
		}
		c.Spec.Paused, c.Status.Pause = by != nil, by
		err = store.UpdateCluster(ctx, c)
		if !errors.Is(err, kube.ErrConflict) || try == attempts {
			return err == nil, err
		}
	}
}
