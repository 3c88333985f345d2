package planner

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// expel removes an entry that is no member of this cluster: the number of
// members stays, and no object goes with it.
func (p Planner) expel() *ops.Decision {
	if p.S.Verb() != v1alpha1.VerbRemoveMember || p.S.Cancelling() || v1alpha1.MemberNumber(p.S.Cluster.Name, p.S.Operation.Spec.Member) > 0 {
		return nil
	}
	if d := p.quorumFirst(); d != nil {
		return d
	}
	name := p.S.Operation.Spec.Member
	entry, ok := p.S.View.Registered(name)
	if !ok {
		if d := p.unknownMember(name); d != nil {
			return d
		}
		return &ops.Decision{Done: true}
	}
	if err := p.E.CheckRemove(p.S.View, name); err != nil {
		return p.gate("may-remove", err, p.voterNames()...)
	}
	return do(ops.Step{ID: "deregister-member/" + name, Action: ops.ActionDeregister, Members: []string{name}, Risk: ops.RiskIrreversible, Deadline: WaitDeadline,
		Title: fmt.Sprintf("Remove %s (%s) from the database's member list", name, entry.ID), Reason: "it is no member of this cluster"})
}

// unknownFirst refuses to change members beside an entry that is none: its
// learner takes the place of the one that may join.
func (p Planner) unknownFirst() *ops.Decision {
	for _, r := range health.UnknownMembers(p.S) {
		if p.S.Verb() == v1alpha1.VerbRemoveMember && p.S.Operation.Spec.Member == r.Name {
			continue
		}
		f := health.UnknownFinding(p.S, r)
		return block(&ops.Error{Kind: ops.Refused, Check: "unknown-member", Message: f.Subject + ": " + f.What, Hint: "first: " + f.Remedy[0]})
	}
	return nil
}
