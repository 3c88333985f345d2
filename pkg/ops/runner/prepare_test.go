package runner

import (
	"context"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// dizzy is a world that sees no majority for a few observations.
type dizzy struct {
	ops.ClosableCluster
	observations, left int
	// silent members do not answer at all.
	silent int
}

func (d *dizzy) Observe(ctx context.Context) (ops.State, error) {
	s, err := d.ClosableCluster.Observe(ctx)
	d.observations++
	if d.left--; d.left >= 0 {
		s = planner.Clone(s)
		opstest.NoQuorum(&s)
		for _, m := range s.View.Members[:d.silent] {
			opstest.Down(&s, m.Name, "", 0)
		}
	}
	return s, err
}

// TestPrepareLooksAgain: between two leaders nothing is fit, but not for long.
func TestPrepareLooksAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		without, observations int
		silent                int
		refused               bool
	}{
		"a majority at once":         {0, 1, 0, false},
		"a majority a little later":  {2, 3, 1, false},
		"no majority":                {100, considerations, 0, true},
		"a majority does not answer": {100, 1, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			onShelf(t, func(_ *shelf, r *Runner) {
				d := &dizzy{ClosableCluster: r.Cluster("shop", "db"), left: c.without, silent: c.silent}
				r.Cluster = func(string, string) ops.ClosableCluster { return d }
				_, err := r.Prepare(context.Background(), "shop", scale(5))
				if (ops.KindOf(err) == ops.Refused && err != nil) != c.refused || d.observations != c.observations {
					t.Errorf("%v after %d observations", err, d.observations)
				}
			})
		})
	}
}
