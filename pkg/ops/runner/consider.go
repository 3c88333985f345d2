package runner

import (
	"context"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// looks is how often a request is considered before it is refused for what may
// be over in a second, and lookPause the pause between two.
const (
	looks     = 4
	lookPause = 500 * time.Millisecond
)

// consider observes, and plans the request for what it sees. A cluster between
// two leaders is fit for nothing, so a request that it is refused for is
// considered again a little later.
func (r *Runner) consider(ctx context.Context, world ops.Cluster, p *planner.Prepared, cluster *v1alpha1.DatabaseCluster, op *v1alpha1.Operation) error {
	for look := 1; ; look++ {
		s, err := world.Observe(ctx)
		if err != nil {
			return err
		}
		s.Cluster = cluster.DeepCopy()
		if p.Continues == nil {
			o := &p.Request.Operation
			if err := planner.Resolve(r.Engine, o, s); err != nil {
				return ops.Refusal(err)
			}
			op.Spec = *o
		}
		s.Operation = op.DeepCopy()
		planner.ApplyTo(s.Cluster, op)
		p.State = s
		p.Plan = planner.PlanWith(r.decider(), r.Engine, s)
		if b := p.Plan.Blocked; b == nil || b.Kind != ops.Refused || p.Continues != nil || look == looks || !betweenLeaders(s) {
			return nil
		}
		timer := time.NewTimer(lookPause)
		select {
		case <-timer.C:
		case <-r.Stop:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// betweenLeaders reports whether a majority answers and one of them does so
// without the consent of a majority, as all do for a second or two between two
// leaders. Where fewer answer, a second does not mend it.
func betweenLeaders(s ops.State) bool {
	reached, waits := 0, false
	for _, m := range s.View.Members {
		if m.Reachable {
			reached++
			waits = waits || !m.Serving && m.Role != engine.RoleLearner && m.Problem == ""
		}
	}
	return waits && reached >= ops.Majority(len(s.View.Members))
}
