package operation

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// Hold keeps members from leading that do not lead now: a person knows that the leader will be away for a while, and
// comes back.
type Hold struct{ rules.Plain }

// Traits implements rules.Operation.
func (Hold) Traits() rules.Traits { return rules.Traits{SparesMembers: true} }

// Manners implements rules.Operation. What waits for a leader may wait for the end of a hold.
func (Hold) Manners() ops.Manners {
	return ops.Manners{Recovers: true, StepsBack: ops.Anytime, Yields: ops.Anytime,
		Same: func(have, asked v1alpha1.OperationSpec) bool { return have.HoldParameters == asked.HoldParameters }}
}

// Check implements rules.Operation.
func (Hold) Check(e engine.Engine, o v1alpha1.OperationSpec, _, _ *v1alpha1.DatabaseCluster) error {
	if e.Capabilities().Failover {
		return nil
	}
	return &engine.Refusal{Check: "failover", Reason: e.Name() + " elects its leader by itself at any time",
		Hint: "kubectl dbop pause " + o.Cluster + " keeps this tool from changes"}
}

// Resolve writes down what was in force.
func (Hold) Resolve(_ engine.Engine, o *v1alpha1.OperationSpec, s ops.State) error {
	o.FromHold = s.View.Hold != nil
	return nil
}

// Steps implements rules.Operation.
func (Hold) Steps() rules.Steps { return rules.Steps{First: hold} }

// Undo implements rules.Operation.
func (Hold) Undo(u *rules.Undoing) error {
	if u.Of.Spec.HoldEnd || u.Of.Spec.FromHold {
		return rules.NoUndo(u.Of.Spec.Cluster, "the hold before it would begin again",
			"kubectl dbop hold "+u.Of.Spec.Cluster+" asks for one")
	}
	u.Operation.Verb, u.Operation.HoldEnd = v1alpha1.VerbHold, true
	u.Title = "let every member lead again"
	return nil
}

// hold agrees on it once: its time would begin again.
func hold(p rules.Situation) *ops.Decision {
	o := p.S.Operation.Spec
	if p.S.Cancelling() || p.S.Fact(v1alpha1.FactHeld) != "" || o.HoldEnd && p.S.View.Quorum && p.S.View.Hold == nil {
		return &ops.Decision{Done: true}
	}
	if d := p.QuorumFirst(); d != nil {
		return d
	}
	step := ops.Step{ID: string(ops.ActionHold), Action: ops.ActionHold, Risk: ops.RiskNone,
		Deadline: rules.StepDeadline, Title: "Have no other member lead " + HoldTime(o),
		Reason: "if the leader is lost meanwhile, nobody takes writes until it is back, or the hold ends"}
	if o.HoldEnd {
		step.Risk, step.Title, step.Reason = ops.RiskNone, "Let every member lead", ""
	}
	return rules.Do(step)
}

// HoldTime says how long a hold is asked for.
func HoldTime(o v1alpha1.OperationSpec) string {
	if o.HoldFor.Duration > 0 {
		return "for " + o.HoldFor.Duration.String()
	}
	return "until somebody ends it"
}
