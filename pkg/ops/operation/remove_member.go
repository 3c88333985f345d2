package operation

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// RemoveMember removes one member, an entry of the member list that is no member of the cluster, or what is left of a
// member that somebody else took from the list.
type RemoveMember struct{ sized }

// Traits implements rules.Operation.
func (RemoveMember) Traits() rules.Traits {
	return rules.Traits{NeedsSpace: true, NoWayBack: true}
}

// Manners implements rules.Operation.
func (RemoveMember) Manners() ops.Manners { return ops.Manners{Removes: true, Same: sameMember} }

// Default implements rules.Operation.
func (RemoveMember) Default(o *v1alpha1.OperationSpec, c *v1alpha1.DatabaseCluster) {
	o.Members = c.Spec.Members
	if v1alpha1.MemberNumber(c.Name, o.Member) > 0 {
		o.Members--
	}
}

// Resolve takes the name of an entry that was given by its ID. It refuses to remove the last member.
func (RemoveMember) Resolve(_ engine.Engine, o *v1alpha1.OperationSpec, s ops.State) error {
	for _, r := range health.UnknownMembers(s) {
		if r.ID == o.Member {
			o.Member = r.Name
		}
	}
	if r, listed := s.View.Registered(o.Member); listed && r.Witness {
		return &engine.Refusal{Check: "witness", Reason: o.Member + " is the witness of " + o.Cluster +
			": it votes, and holds no data",
			Hint: fmt.Sprintf("it leaves by itself once the number of members needs none: kubectl dbop scale %s --members %d",
				o.Cluster, o.FromMembers+1)}
	}
	if unlisted(s, o.Member) {
		// The list is short of it already: one less is wanted only where more are wanted than are there.
		o.Members = max(o.FromMembers-1, min(o.FromMembers, int32(len(s.View.Data())))) // #nosec G115 -- it fits
	}
	if o.Members >= 1 {
		return nil
	}
	return &engine.Refusal{Check: "last-member", Reason: "the last member of " + o.Cluster +
		" can't be removed: its data would be gone",
		Hint: fmt.Sprintf("kubectl dbop stop %s stops it and keeps its volume", o.Cluster)}
}

// unlisted reports whether objects are left of a member of this cluster that the database does not list.
func unlisted(s ops.State, name string) bool {
	_, listed := s.View.Registered(name)
	return s.View.Quorum && !listed && v1alpha1.MemberNumber(s.Cluster.Name, name) > 0 && s.Ours(s.Kube.Member(name))
}

// Steps implements rules.Operation.
func (RemoveMember) Steps() rules.Steps {
	return rules.Steps{Running: func(p rules.Situation) *ops.Decision {
		if d := leftover(p); d != nil {
			return d
		}
		return expel(p)
	}}
}

// leftover refuses to delete the volume of a member that the database does not list any more while nobody else is
// known to have the data. The standing rules delete it otherwise.
func leftover(p rules.Situation) *ops.Decision {
	name := p.S.Operation.Spec.Member
	if p.S.Cancelling() || p.Began(ops.ActionDeregister) || !unlisted(p.S, name) || p.E.Source(p.S.View, true) != "" {
		return nil
	}
	return p.Gate("may-remove", &engine.Refusal{Check: "evidence",
		Reason: fmt.Sprintf("no listed member of %s is healthy, and the volume of %s may be the only copy of the data",
			p.S.Cluster.Name, name),
		Hint: "kubectl dbop diagnose " + p.S.Cluster.Name}, p.VoterNames()...)
}

// Undo implements rules.Operation.
func (RemoveMember) Undo(u *rules.Undoing) error {
	if err := u.Resized(); err != nil {
		return err
	}
	of := u.Of.Spec
	if of.Members == of.FromMembers && v1alpha1.MemberNumber(of.Cluster, of.Member) > 0 {
		return rules.NoUndo(of.Cluster, "what was removed of "+of.Member+" was no part of "+of.Cluster, "")
	}
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
	return rules.Do(ops.Step{ID: "deregister-member/" + name, Action: ops.ActionDeregister, Members: []string{name},
		Risk: ops.RiskIrreversible, Deadline: rules.WaitDeadline,
		Title:  fmt.Sprintf("Remove %s (%s) from the database's member list", name, entry.ID),
		Reason: "it is no member of this cluster"})
}

// sameMember reports whether two requests name the same member.
func sameMember(have, asked v1alpha1.OperationSpec) bool { return have.Member == asked.Member }
