package ops

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// quorumFirst waits for, or refuses without, a majority: nobody's member list
// is authoritative without one.
func (p planner) quorumFirst() *Decision {
	if p.s.View.Quorum {
		return nil
	}
	reached := 0
	var names []string
	for _, m := range p.s.View.Members {
		names = append(names, m.Name)
		if m.Reachable {
			reached++
		}
	}
	why := fmt.Sprintf("no quorum: %d of %d members answer, and no majority agrees on a leader", reached, len(p.s.View.Members))
	if p.fresh() && !p.writtenDown() {
		return block(&Error{Kind: Refused, Check: "quorum", Message: why,
			Hint: "kubectl dbop status " + p.s.Cluster.Name + " shows which members are down and why"})
	}
	if reached >= majority(len(names)) {
		names = nil // they are between two leaders, and those that are missing are not missed
	}
	return p.await("quorum", why, names...)
}

// joining finishes a join that began, whoever began it: a learner in the
// roster is started, then promoted on the leader's word, or withdrawn if
// nobody wants it any more.
func (p planner) joining() *Decision {
	if d := p.quorumFirst(); d != nil {
		return d
	}
	learners := slices.DeleteFunc(p.s.View.Learners(), func(r engine.Registered) bool {
		return v1alpha1.MemberNumber(p.s.Cluster.Name, r.Name) == 0 // nobody of ours, and nothing to start
	})
	if len(learners) == 0 {
		return nil
	}
	l := learners[0]
	if len(p.s.View.Voters()) >= int(p.s.Cluster.Spec.Members) {
		return do(Step{ID: "deregister-member/" + l.Name, Action: ActionDeregister, Members: []string{l.Name}, Risk: RiskNone, Deadline: waitDeadline,
			Title: "Withdraw learner " + l.Name, Reason: "it has no vote, so quorum is not touched"})
	}
	if len(p.unstarted([]string{l.Name})) > 0 {
		return p.start([]string{l.Name}, "it is registered as a learner")
	}
	if m := p.s.View.Member(l.Name); !m.Reachable || !l.Started {
		if d := p.revive(l.Name); d != nil {
			return d
		}
		why := " does not answer yet"
		if m.Reachable {
			why = " has not announced itself yet"
		}
		return p.await("joined", l.Name+why, l.Name)
	}
	return do(Step{ID: "promote-member/" + l.Name, Action: ActionPromote, Members: []string{l.Name}, Risk: RiskNone, Deadline: streamDeadline,
		Title: "Give " + l.Name + " its vote", Reason: "once the leader says that it has caught up"})
}

// leaving removes what is left of members that the database's own list does
// not hold any more. A kept volume would make the next pod of that name exit
// for ever, so it goes before the name is free again.
func (p planner) leaving() *Decision {
	for _, m := range p.s.Kube.Members {
		if _, registered := p.s.View.Registered(m.Name); registered || !p.s.ours(m) {
			continue
		}
		if d := p.lingering([]string{m.Name}); d != nil {
			return d
		}
		return do(Step{ID: "retire-member/" + m.Name, Action: ActionRetire, Members: []string{m.Name}, Risk: RiskIrreversible, Deadline: waitDeadline,
			Title: fmt.Sprintf("Stop %s and drop its volume", m.Name), Reason: "the database does not count it as a member",
			Touches: []string{"statefulset/" + m.Name, "persistentvolumeclaim/" + v1alpha1.VolumeName(m.Name)}})
	}
	return nil
}

// mayResize objects before anything is done, the budget included.
func (p planner) mayResize() *Decision {
	switch voters, want := len(p.s.View.Voters()), int(p.s.Cluster.Spec.Members); {
	case voters < want:
		return p.gate("may-add", p.e.CheckAdd(p.s.View), p.voterNames()...)
	case voters > want:
		victim := p.victim()
		if _, ok := p.s.View.Registered(victim); !ok {
			return p.unknownMember(victim)
		}
		return p.gate("may-remove", p.e.CheckRemove(p.s.View, victim), p.voterNames()...)
	}
	return nil
}

// unknownMember refuses to remove a member that isn't one: no other may leave
// in its place. Half way it has left, and that was all that was asked for.
func (p planner) unknownMember(name string) *Decision {
	if !p.fresh() {
		return nil
	}
	return block(&Error{Kind: Refused, Check: "unknown-member",
		Unknown: true, Message: fmt.Sprintf("%s is not a member of %s; its members are %s", name, p.s.Cluster.Name, strings.Join(p.voterNames(), ", ")),
		Hint: "kubectl dbop status " + p.s.Cluster.Name + " shows them"})
}

// size moves the number of voters to what is wanted, one change at a time.
func (p planner) size() *Decision {
	switch voters, want := len(p.s.View.Voters()), int(p.s.Cluster.Spec.Members); {
	case voters < want:
		return p.grow()
	case voters > want:
		return p.shrink()
	}
	return nil
}

func (p planner) grow() *Decision {
	name := p.s.freeName()
	title, reason := "Register "+name+" as a learner", "a learner has no vote, so a start that fails costs nothing"
	if !p.e.Capabilities().Learners {
		title, reason = "Register "+name, ""
	}
	return do(Step{ID: "register-member/" + name, Action: ActionRegister, Members: []string{name}, Risk: RiskNone, Deadline: waitDeadline,
		Title: title, Reason: reason})
}

// victim is the member that leaves: the one that was named, or the engine's choice.
func (p planner) victim() string {
	if p.s.verb() == v1alpha1.VerbRemoveMember {
		return p.s.Operation.Spec.Member
	}
	return p.e.Victim(p.s.View)
}

func (p planner) shrink() *Decision {
	victim := p.victim()
	if _, ok := p.s.View.Registered(victim); !ok {
		return nil
	}
	if leader, ok := p.s.View.Leader(); ok && leader.Name == victim && p.e.Capabilities().HandOver {
		if d := p.handOver(victim, "the leader is about to leave", victim); d != nil {
			return d
		}
	}
	return do(Step{ID: "deregister-member/" + victim, Action: ActionDeregister, Members: []string{victim}, Risk: RiskIrreversible, Deadline: waitDeadline,
		Title: "Remove " + victim + " from the database's member list"})
}

// handOver moves leadership away from a member; nil if nobody is fit to lead.
func (p planner) handOver(from, reason string, except ...string) *Decision {
	to := p.e.Successor(p.s.View, except...)
	if to == "" {
		return nil
	}
	return do(Step{ID: "hand-over/" + to, Action: ActionHandOver, Members: []string{from}, To: to, Risk: RiskLeaderMove, Deadline: stepDeadline,
		Title: fmt.Sprintf("Hand leadership from %s to %s", from, to), Reason: reason})
}

func (p planner) voterNames() []string {
	var out []string
	for _, r := range p.s.View.Voters() {
		out = append(out, r.Name)
	}
	return out
}
