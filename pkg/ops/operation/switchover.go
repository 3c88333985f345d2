package operation

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// Switchover moves leadership.
type Switchover struct{ rules.Plain }

// Traits implements rules.Operation.
func (Switchover) Traits() rules.Traits { return rules.Traits{SparesMembers: true} }

// Manners implements rules.Operation.
func (Switchover) Manners() ops.Manners { return ops.Manners{StepsBack: ops.Anytime, Same: sameMember} }

// Resolve writes down who leads.
func (Switchover) Resolve(_ engine.Engine, o *v1alpha1.OperationSpec, s ops.State) error {
	if l, ok := s.View.Leader(); ok {
		o.Leader = l.Name
	}
	return nil
}

// Steps implements rules.Operation.
func (Switchover) Steps() rules.Steps { return rules.Steps{Sized: switchover} }

// Undo implements rules.Operation.
func (Switchover) Undo(u *rules.Undoing) error {
	of := u.Of.Spec
	if of.Leader == "" {
		return u.Unrecorded("who led before")
	}
	u.Operation.Verb, u.Operation.Member = v1alpha1.VerbSwitchover, of.Leader
	u.Title = "hand leadership back to " + of.Leader
	return nil
}

// switchover moves leadership to the chosen member, or away from the member that led
// when it was asked for. Both are written down, so a repeat does not move it on.
func switchover(p rules.Situation) *ops.Decision {
	if p.S.Cancelling() {
		return nil
	}
	if d := p.QuorumFirst(); d != nil {
		return d
	}
	leader, ok := p.S.View.Leader()
	if !ok {
		return p.Await("quorum", "no member says that it leads", p.VoterNames()...)
	}
	to := p.S.Operation.Spec.Member
	switch {
	case to == "" && leader.Name != p.S.Operation.Spec.Leader, to == leader.Name:
		return nil
	case to == "":
		if to = p.E.Successor(p.S.View, leader.Name); to == "" {
			return rules.Block(&ops.Error{Kind: ops.Refused, Check: "successor", Message: "no other member of " +
				p.S.Cluster.Name + " is fit to lead",
				Hint: "kubectl dbop status " + p.S.Cluster.Name + " shows why"})
		}
	default:
		if err := p.E.Health(p.S.View, to); err != nil {
			return p.Gate("healthy", fmt.Errorf("%s is not fit to lead: %w", to, err), to)
		}
	}
	return p.HandOver(leader, to, "")
}
