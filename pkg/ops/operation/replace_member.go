package operation

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// ReplaceMember removes a member and adds another, of the same name if the engine gives one again.
type ReplaceMember struct{ rules.Plain }

// Traits implements rules.Operation.
func (ReplaceMember) Traits() rules.Traits {
	return rules.Traits{Starts: true, Restarts: true, DespiteDamage: true, NoWayBack: true}
}

// Manners implements rules.Operation.
func (ReplaceMember) Manners() ops.Manners { return ops.Manners{Replaces: true, Same: sameMember} }

// Resolve writes down who is replaced: the successor may bear the same name.
func (ReplaceMember) Resolve(_ engine.Engine, o *v1alpha1.OperationSpec, s ops.State) error {
	entry, ok := s.View.Registered(o.Member)
	if s.View.Quorum && !ok {
		return &engine.Refusal{Check: "member", Unknown: true,
			Reason: fmt.Sprintf("%s is no member of %s", o.Member, o.Cluster),
			Hint:   "kubectl dbop status " + o.Cluster + " names them"}
	}
	o.MemberID = entry.ID
	return nil
}

// Steps implements rules.Operation.
func (ReplaceMember) Steps() rules.Steps { return rules.Steps{Running: replace} }

// Undo implements rules.Operation.
func (ReplaceMember) Undo(u *rules.Undoing) error {
	return rules.NoUndo(u.Of.Spec.Cluster,
		"what "+u.Of.Spec.Member+" had before is gone, and its successor has a copy of the others' data", "")
}

// replace takes the entry that the record names out of the database's member
// list: removed before its successor is added, because an add with a member
// down is refused and would raise the quorum. Its volume goes with it (family
// leaving), and a member joins (family size): of the same name if the engine gives one again.
func replace(p rules.Situation) *ops.Decision {
	if p.S.Cancelling() {
		return nil
	}
	name, old := p.S.Operation.Spec.Member, p.S.Operation.Spec.MemberID
	entry, registered := p.S.View.Registered(name)
	if d := p.QuorumFirst(); d != nil {
		return d
	}
	if !registered || entry.ID != old {
		return nil
	}
	if d := evidence(p, name); d != nil {
		return d
	}
	if err := p.E.CheckRemove(p.S.View, name); err != nil {
		return p.Gate("may-remove", err, p.VoterNames()...)
	}
	if d := p.HandOverFirst(name, "the leader is about to be replaced", name); d != nil {
		return d
	}
	return rules.Do(ops.Step{ID: "deregister-member/" + name, Action: ops.ActionDeregister, Members: []string{name},
		Risk: ops.RiskIrreversible, Deadline: rules.WaitDeadline,
		Title:  fmt.Sprintf("Remove %s (%s) from the database's member list", name, old),
		Reason: "removed first, added afterwards"})
}

// evidence refuses to throw away what will come back by itself, or is well.
func evidence(p rules.Situation, name string) *ops.Decision {
	if p.S.Waives("evidence") {
		return nil
	}
	refuse := func(reason, hint string) *ops.Decision {
		return rules.Block(&ops.Error{Kind: ops.Refused, Check: "evidence", Message: reason, Hint: hint})
	}
	for _, a := range p.S.View.Raised(engine.CauseDamage) {
		if a.Member == name && p.E.Health(p.S.View, name) == nil {
			return refuse(fmt.Sprintf("%s is raised for %s, which does not show that it is the one whose data is damaged",
				a.Name, name),
				fmt.Sprintf("kubectl dbop alarms clear %s compares all members and names it; insist with --force then",
					p.S.Cluster.Name))
		}
	}
	m := p.S.Kube.Member(name)
	if !m.Volume.Exists || m.Volume.Terminating {
		return nil // also while its pod runs: the volume goes when that stops
	}
	if p.E.Health(p.S.View, name) == nil {
		return refuse(name+" is healthy: nothing is to be replaced",
			"insist with --force if its data is to be copied again")
	}
	problem := m.Pod.Problem
	switch {
	case problem == nil && m.Pod.Exists && !m.Pod.Running:
		return refuse(name+" is only starting: its volume is there, and nothing is lost",
			"wait, or see kubectl describe pod "+v1alpha1.PodName(name))
	case problem == nil:
		return refuse(name+" is not healthy, but nothing shows that its data is lost",
			"kubectl dbop status shows what it says; insist with --force")
	case problem.Kind == observe.ProblemOOM:
		return refuse(name+" is killed because it ran out of memory: a new volume would not help", "give it more memory")
	case problem.Kind == observe.ProblemDisk:
		return refuse(name+
			" can't start because its disk is full: its data is whole, and a new volume of the same size would be full again",
			fmt.Sprintf("give it more space: kubectl dbop resize %s --storage SIZE; then it starts by itself",
				p.S.Cluster.Name))
	case health.OnSilentNode(m.Pod):
		return refuse(fmt.Sprintf("node %s, on which %s runs, is silent, and nothing shows that it is gone for good",
			m.Pod.Node, name),
			"bring the node back; if it is off for good, "+health.NodeOff(m.Pod.Node)+
				", and repeat this if the member does not come back elsewhere; or insist with --force")
	case problem.Kind == observe.ProblemCrashing, problem.Kind == observe.ProblemNode:
		return nil
	default:
		return refuse(fmt.Sprintf("%s can't start (%s), but its data is not lost", name, problem.Message),
			"mend that first; insist with --force")
	}
}
