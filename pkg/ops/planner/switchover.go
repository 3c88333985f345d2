package planner

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// switchover moves leadership to the chosen member, or away from whoever led
// when it was asked for. Both are written down, so a repeat does not move it on.
func (p Planner) switchover() *ops.Decision {
	if p.S.Verb() != v1alpha1.VerbSwitchover || p.S.Cancelling() {
		return nil
	}
	if d := p.quorumFirst(); d != nil {
		return d
	}
	leader, ok := p.S.View.Leader()
	if !ok {
		return p.await("quorum", "no member says that it leads", p.voterNames()...)
	}
	to := p.S.Operation.Spec.Member
	switch {
	case to == "" && leader.Name != p.S.Operation.Spec.Leader, to == leader.Name:
		return nil
	case to == "":
		if to = p.E.Successor(p.S.View, leader.Name); to == "" {
			return block(&ops.Error{Kind: ops.Refused, Check: "successor", Message: "no other member of " + p.S.Cluster.Name + " is fit to lead",
				Hint: "kubectl dbop status " + p.S.Cluster.Name + " shows why"})
		}
	default:
		if err := p.E.Health(p.S.View, to); err != nil {
			return p.gate("healthy", fmt.Errorf("%s is not fit to lead: %w", to, err), to)
		}
	}
	return do(ops.Step{ID: "hand-over/" + to, Action: ops.ActionHandOver, Members: []string{leader.Name}, To: to, Risk: ops.RiskLeaderMove, Deadline: StepDeadline,
		Title: fmt.Sprintf("Hand leadership from %s to %s", leader.Name, to)})
}
