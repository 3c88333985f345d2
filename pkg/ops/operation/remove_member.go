package operation

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// RemoveMember removes one member, or an entry of the member list that is no member of the cluster.
type RemoveMember struct{ sized }

// Traits implements rules.Operation.
func (RemoveMember) Traits() rules.Traits {
	return rules.Traits{Removes: true, NeedsSpace: true, NoWayBack: true}
}

// Default implements rules.Operation.
func (RemoveMember) Default(o *v1alpha1.OperationSpec, c *v1alpha1.DatabaseCluster) {
	o.Members = c.Spec.Members
	if v1alpha1.MemberNumber(c.Name, o.Member) > 0 {
		o.Members--
	}
}

// Check implements rules.Operation.
func (RemoveMember) Check(_ engine.Engine, o v1alpha1.OperationSpec, c, _ *v1alpha1.DatabaseCluster) error {
	if o.Members >= 1 {
		return nil
	}
	return &engine.Refusal{Check: "last-member", Reason: "the last member of " + c.Name + " can't be removed: its data would be gone",
		Hint: fmt.Sprintf("kubectl dbop stop %s stops it and keeps its volume", c.Name)}
}

// Resolve takes the name of an entry that was given by its ID.
func (RemoveMember) Resolve(_ engine.Engine, o *v1alpha1.OperationSpec, s ops.State) error {
	for _, r := range health.UnknownMembers(s) {
		if r.ID == o.Member {
			o.Member = r.Name
		}
	}
	return nil
}

// Steps implements rules.Operation.
func (RemoveMember) Steps() rules.Steps { return rules.Steps{Running: expel} }

// Undo implements rules.Operation.
func (RemoveMember) Undo(u *rules.Undoing) error {
	if err := u.Resized(); err != nil {
		return err
	}
	of := u.Of.Spec
	u.Operation.Verb, u.Title = v1alpha1.VerbAddMember, "add a member in place of "+of.Member
	u.Stays = []string{"the volume of " + of.Member + ": the new member starts with a copy of the others' data"}
	return nil
}

// expel removes an entry that is no member of this cluster: the number of
// members stays, and no object goes with it.
func expel(p rules.Situation) *ops.Decision {
	if p.S.Cancelling() || v1alpha1.MemberNumber(p.S.Cluster.Name, p.S.Operation.Spec.Member) > 0 {
		return nil
	}
	if d := p.QuorumFirst(); d != nil {
		return d
	}
	name := p.S.Operation.Spec.Member
	entry, ok := p.S.View.Registered(name)
	if !ok {
		if d := p.UnknownMember(name); d != nil {
			return d
		}
		return &ops.Decision{Done: true}
	}
	if err := p.E.CheckRemove(p.S.View, name); err != nil {
		return p.Gate("may-remove", err, p.VoterNames()...)
	}
	return rules.Do(ops.Step{ID: "deregister-member/" + name, Action: ops.ActionDeregister, Members: []string{name}, Risk: ops.RiskIrreversible, Deadline: rules.WaitDeadline,
		Title: fmt.Sprintf("Remove %s (%s) from the database's member list", name, entry.ID), Reason: "it is no member of this cluster"})
}
