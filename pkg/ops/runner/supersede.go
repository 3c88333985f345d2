package runner

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// mayGiveWay judges whether a replacement may take over from the operation that
// it would put an end to, by what was observed for it.
func (r *Runner) mayGiveWay(p *planner.Prepared, c *v1alpha1.DatabaseCluster) error {
	old := p.Supersedes
	if old == nil || ops.Untouched(old) {
		return nil
	}
	if planner.Verbs().SucceedsIn(p.Request.Operation, old) {
		if rules.AuthorityOver(p.State) {
			return nil
		}
		return planner.Verbs().InFlight(old, c)
	}
	if !planner.Verbs().ReplacesIn(p.Request.Operation, old) {
		return nil // it gives way to whatever comes
	}
	s := planner.Clone(p.State)
	s.Cluster, s.Operation = c.DeepCopy(), old.DeepCopy()
	s.Cluster.Spec.Paused = false
	d := r.decider()(r.Engine, s)
	if d.Blocked != nil && planner.For(r.Engine, s).GivesWay(p.Request.Operation.Member) {
		return nil
	}
	e := planner.Verbs().InFlight(old, c)
	if old.Status.Phase == v1alpha1.PhaseCancelling {
		e.Hint = fmt.Sprintf(
			"continue it first: kubectl dbop resume %s, or kubectl dbop cancel %s; a replacement takes over where neither "+
				"goes on for want of that member", old.Spec.Cluster, old.Spec.Cluster)
	} else {
		e.Hint = fmt.Sprintf(
			"step back first: kubectl dbop cancel %s; a replacement takes over where that does not go on for want of "+
				"the member",
			old.Spec.Cluster)
	}
	return e
}
