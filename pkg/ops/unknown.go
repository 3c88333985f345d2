package ops

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// unknown are the entries of the database's member list that are no member of
// this cluster: somebody else added them, and no pod of ours is behind them.
func (s State) unknown() []engine.Registered {
	var out []engine.Registered
	for _, r := range s.View.Roster {
		if v1alpha1.MemberNumber(s.Cluster.Name, r.Name) == 0 {
			out = append(out, r)
		}
	}
	return out
}

// unknownFinding tells of such an entry.
func (s State) unknownFinding(r engine.Registered) Finding {
	f := Finding{Severity: Warn, Subject: "member " + r.Name, What: "it is in the member list, and is no member of this cluster: no other member can join",
		Evidence: []string{"registered with ID " + r.ID + " at " + r.Address}, Remedy: []string{fmt.Sprintf("kubectl dbop remove-member %s %s", s.Cluster.Name, r.Name)}}
	if r.Voter {
		f.Severity = Fail
		f.What = "it is in the member list with a vote, and is no member of this cluster: it counts against the quorum"
	}
	return f
}

// expel removes an entry that is no member of this cluster: the number of
// members stays, and no object goes with it.
func (p planner) expel() *Decision {
	if p.s.verb() != v1alpha1.VerbRemoveMember || p.s.cancelling() || v1alpha1.MemberNumber(p.s.Cluster.Name, p.s.Operation.Spec.Member) > 0 {
		return nil
	}
	if d := p.quorumFirst(); d != nil {
		return d
	}
	name := p.s.Operation.Spec.Member
	entry, ok := p.s.View.Registered(name)
	if !ok {
		if d := p.unknownMember(name); d != nil {
			return d
		}
		return &Decision{Done: true}
	}
	if err := p.e.CheckRemove(p.s.View, name); err != nil {
		return p.gate("may-remove", err, p.voterNames()...)
	}
	return do(Step{ID: "deregister-member/" + name, Action: ActionDeregister, Members: []string{name}, Risk: RiskIrreversible, Deadline: waitDeadline,
		Title: fmt.Sprintf("Remove %s (%s) from the database's member list", name, entry.ID), Reason: "it is no member of this cluster"})
}

// unknownFirst refuses to change members beside an entry that is none: its
// learner takes the place of the one that may join.
func (p planner) unknownFirst() *Decision {
	for _, r := range p.s.unknown() {
		if p.s.verb() == v1alpha1.VerbRemoveMember && p.s.Operation.Spec.Member == r.Name {
			continue
		}
		f := p.s.unknownFinding(r)
		return block(&Error{Kind: Refused, Check: "unknown-member", Message: f.Subject + ": " + f.What, Hint: "first: " + f.Remedy[0]})
	}
	return nil
}
