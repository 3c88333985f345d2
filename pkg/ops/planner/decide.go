package planner

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/backups"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// Decide says what comes next: one step, one wait, a block, or nothing. It is pure and total; every driver asks it,
// and only it. It asks the standing rules and the operation in flight in an order of safety: identity before anything
// else, a half-made cluster before its members, an interrupted join before a new one, versions before size.
func Decide(e engine.Engine, s ops.State) ops.Decision {
	if s.Cluster == nil {
		return ops.Decision{Done: true}
	}
	p, steps := For(e, s).WithoutAlarms(), OperationOf(s.Verb()).Steps()
	for _, next := range []func(rules.Situation) *ops.Decision{
		rules.Situation.Paused,
		backups.Stopping,
		rules.Situation.Identity,
		steps.Alone,
		rules.Situation.Intact,
		rules.Situation.Renewal,
		steps.First,
		rules.Situation.Founding,
		rules.Situation.DisablingBootstrap,
		rules.Situation.Templates,
		steps.Stopped,
		rules.Situation.Stopping,
		rules.Situation.Starting,
		steps.Running,
		rules.Situation.Joining,
		rules.Situation.Leaving,
		steps.Joined,
		rules.Situation.MayResize,
		rules.Situation.Budget,
		rules.Situation.Scheduling,
		rules.Situation.Size,
		rules.Situation.Staying,
		steps.Sized,
		rules.Situation.Archiving,
		rules.Situation.Healthy,
	} {
		if next == nil {
			continue
		}
		if d := next(p); d != nil {
			return *d
		}
	}
	return ops.Decision{Done: true}
}
