package ops

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// switchover moves leadership to the chosen member, or away from whoever led
// when it was asked for. Both are written down, so a repeat does not move it on.
func (p planner) switchover() *Decision {
	if p.s.verb() != v1alpha1.VerbSwitchover || p.s.cancelling() {
		return nil
	}
	if d := p.quorumFirst(); d != nil {
		return d
	}
	leader, ok := p.s.View.Leader()
	if !ok {
		return p.await("quorum", "no member says that it leads", p.voterNames()...)
	}
	to := p.s.Operation.Spec.Member
	switch {
	case to == "" && leader.Name != p.s.Operation.Spec.Leader, to == leader.Name:
		return nil
	case to == "":
		if to = p.e.Successor(p.s.View, leader.Name); to == "" {
			return block(&Error{Kind: Refused, Check: "successor", Message: "no other member of " + p.s.Cluster.Name + " is fit to lead",
				Hint: "kubectl dbop status " + p.s.Cluster.Name + " shows why"})
		}
	default:
		if err := p.e.Health(p.s.View, to); err != nil {
			return p.gate("healthy", fmt.Errorf("%s is not fit to lead: %w", to, err), to)
		}
	}
	return do(Step{ID: "hand-over/" + to, Action: ActionHandOver, Members: []string{leader.Name}, To: to, Risk: RiskLeaderMove, Deadline: stepDeadline,
		Title: fmt.Sprintf("Hand leadership from %s to %s", leader.Name, to)})
}
