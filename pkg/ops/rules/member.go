package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// QuorumFirst waits for, or refuses without, a majority: nobody's member list
// is authoritative without one.
func (p Situation) QuorumFirst() *ops.Decision {
	if p.S.View.Quorum {
		return nil
	}
	reached := 0
	var names []string
	for _, m := range p.S.View.Members {
		names = append(names, m.Name)
		if m.Reachable {
			reached++
		}
	}
	why := fmt.Sprintf("no quorum: %d of %d members answer, and no majority agrees on a leader", reached,
		len(p.S.View.Members))
	if p.Fresh() && !p.writtenDown() {
		return Block(&ops.Error{Kind: ops.Refused, Check: "quorum", Message: why,
			Hint: "kubectl dbop status " + p.S.Cluster.Name + " shows which members are down and why"})
	}
	if reached >= ops.Majority(len(names)) {
		names = nil // they are between two leaders, and those that are missing are not missed
	}
	return p.Await("quorum", why, names...)
}

// Leaving removes what is left of members that the database's own list does
// not hold any more because this tool removed them. A kept volume would make
// the next pod of that name exit for ever, so it goes before the name is free
// again. Who is missing from the list for another reason keeps its volume.
func (p Situation) Leaving() *ops.Decision {
	for _, m := range p.S.Kube.Members {
		if _, registered := p.S.View.Registered(m.Name); registered || !p.S.Ours(m) || !p.Verbs.Removes(p.S, m.Name) {
			continue
		}
		if d := p.Lingering([]string{m.Name}); d != nil {
			return d
		}
		return Do(ops.Step{ID: "retire-member/" + m.Name, Action: ops.ActionRetire, Members: []string{m.Name},
			Risk: ops.RiskIrreversible, Deadline: WaitDeadline,
			Title: fmt.Sprintf("Stop %s and drop its volume", m.Name), Reason: "the database does not count it as a member",
			Touches: []string{"statefulset/" + m.Name, "persistentvolumeclaim/" + v1alpha1.VolumeName(m.Name)}})
	}
	return nil
}

// Staying writes down that a member stays whose removal was started and given up:
// cancelled, undone, or refused by the database until nobody wanted it any more.
// Else its volume would go as soon as somebody else took it from the list.
func (p Situation) Staying() *ops.Decision {
	for _, name := range p.S.Bootstrap().Removing {
		if _, registered := p.S.View.Registered(name); !registered {
			continue
		}
		return Do(ops.Step{ID: "keep-member/" + name, Action: ops.ActionKeep, Members: []string{name}, Risk: ops.RiskNone,
			Deadline: StepDeadline, Title: "Write down that " + name + " stays",
			Reason:  "its removal was started and given up",
			Touches: []string{"configmap/" + v1alpha1.Record(p.S.Cluster.Name)}})
	}
	return nil
}

// MayResize objects before anything is done, the budget included.
func (p Situation) MayResize() *ops.Decision {
	c := p.nextChange()
	if c.leaves != "" {
		if _, ok := p.S.View.Registered(c.leaves); !ok {
			return p.UnknownMember(c.leaves)
		}
		if d := p.Gate("may-remove", p.E.CheckRemove(p.S.View, c.leaves), p.VoterNames()...); d != nil {
			return d
		}
	}
	if !c.joins {
		return nil
	}
	return p.Gate("may-add", p.E.CheckAdd(p.S.View), p.VoterNames()...)
}

// change is one change of the member list; the zero value is none.
type change struct {
	// joins: a member joins, which is a witness or not.
	joins, witness bool
	// leaves is the member that leaves, now, or after a witness joined that takes its vote.
	leaves string
}

// nextChange moves the numbers of members and of witnesses to what is wanted. A
// witness joins before the member leaves whose vote it takes, and leaves after
// the member has joined that takes its vote: so the votes stay odd. Beside a
// member that is down nobody joins, so that one leaves first.
func (p Situation) nextChange() change {
	data, witnesses := ops.Missing(p.E, p.S)
	leaves := ""
	if data < 0 {
		leaves = p.candidate()
	}
	switch {
	case data > 0:
		return change{joins: true}
	case leaves != "" && witnesses > 0 && p.E.Health(p.S.View, leaves) == nil:
		return change{joins: true, witness: true, leaves: leaves}
	case leaves != "":
		return change{leaves: leaves}
	case witnesses > 0:
		return change{joins: true, witness: true}
	case witnesses < 0:
		return change{leaves: p.S.View.Witnesses()[0].Name}
	}
	return change{}
}

// UnknownMember refuses to remove a member that isn't one: no other may leave
// in its place. Half way it has left, and that was all that was asked for.
func (p Situation) UnknownMember(name string) *ops.Decision {
	if !p.Fresh() {
		return nil
	}
	return Block(&ops.Error{Kind: ops.Refused, Check: "unknown-member",
		Unknown: true, Message: fmt.Sprintf("%s is not a member of %s; its members are %s", name, p.S.Cluster.Name,
			strings.Join(p.VoterNames(), ", ")),
		Hint: "kubectl dbop status " + p.S.Cluster.Name + " shows them"})
}

// Size moves the number of members to what is wanted, one change at a time.
func (p Situation) Size() *ops.Decision {
	switch c := p.nextChange(); {
	case c.joins:
		return p.register(c.witness)
	case c.leaves != "":
		return p.shrink(c.leaves)
	}
	return nil
}

// candidate is the member with data that leaves: the one that was named, or the engine's choice.
func (p Situation) candidate() string {
	if p.Manners.Removes {
		return p.S.Operation.Spec.Member
	}
	return p.E.RemovalCandidate(p.S.View)
}

func (p Situation) shrink(leaving string) *ops.Decision {
	if _, ok := p.S.View.Registered(leaving); !ok {
		return nil
	}
	if d := p.HandOverFirst(leaving, "the leader is about to leave", leaving); d != nil {
		return d
	}
	s := ops.Step{ID: "deregister-member/" + leaving, Action: ops.ActionDeregister, Members: []string{leaving},
		Risk: ops.RiskIrreversible, Deadline: WaitDeadline,
		Title: "Remove " + leaving + " from the database's member list"}
	p.warn(&s, leaving, leaving)
	return Do(s)
}

func (p Situation) VoterNames() []string {
	var out []string
	for _, r := range p.S.View.Joined() {
		out = append(out, r.Name)
	}
	return out
}

// HandOverFirst moves leadership away from a member that is about to stop, if
// it leads and another one could. Without a fit successor it waits, or is
// refused; only who waived that goes on, and the step says what may be lost.
func (p Situation) HandOverFirst(from, reason string, except ...string) *ops.Decision {
	leader, ok := p.S.View.Leader()
	switch {
	case len(p.VoterNames()) < 2 || !p.E.Capabilities().HandOver:
		return nil
	case !ok || leader.Name != from && !leader.Serving:
		return p.mayLead(from)
	case leader.Name != from:
		return nil
	}
	to := p.E.Successor(p.S.View, except...)
	if to == "" {
		loss := p.E.AssessLoss(p.S.View, from)
		if loss == "" || p.S.Waives("successor") {
			return nil
		}
		return p.Gate("successor", &engine.Refusal{Check: "successor",
			Reason: fmt.Sprintf("%s leads, and no other member is fit to take over: %s", from, loss),
			Hint: "kubectl dbop diagnose " + p.S.Cluster.Name +
				" shows how far the others are; nothing stops until one of them has caught up"}, p.Except([]string{from})...)
	}
	return p.HandOver(leader, to, reason)
}

// HandOver moves leadership. What the leader loses by that is named.
func (p Situation) HandOver(leader engine.Member, to, reason string) *ops.Decision {
	if h := p.S.View.Hold; h != nil {
		return Block(&ops.Error{Kind: ops.Refused, Check: "hold", Message: fmt.Sprintf(
			"%s can't hand leadership over: a hold is in force %s", leader.Name, h.Text()),
			Hint: "kubectl dbop hold " + p.S.Cluster.Name + " --end lets every member lead again"})
	}
	title := fmt.Sprintf("Hand leadership from %s to %s", leader.Name, to)
	if len(leader.OnlyHere) > 0 {
		title += ", which loses " + strings.Join(leader.OnlyHere, ", ")
	}
	if leader.Stale != "" {
		title += fmt.Sprintf(", and may lose what only %s has: that is not known, as its server did not say it (%s)",
			leader.Name, leader.Stale)
	}
	return Do(ops.Step{ID: "hand-over/" + to, Action: ops.ActionHandOver, Members: []string{leader.Name}, To: to,
		Risk: ops.RiskLeaderMove, Deadline: StepDeadline, Title: title, Reason: reason})
}

// mayLead waits before a member stops while nobody is known to lead: it may be the
// one that leads, or that led and is about to come back, and have what the others
// don't. One that can't start as it is has to be restarted all the same. Members
// were not asked at one moment, so without a leader their positions show nothing.
func (p Situation) mayLead(from string) *ops.Decision {
	v := p.S.View
	v.Members = slices.Clone(v.Members)
	for i := range v.Members {
		v.Members[i].Position = ""
	}
	loss := p.E.AssessLoss(v, from)
	if loss == "" || p.cantStart(p.S.Kube.Member(from)) || p.S.Waives("successor") {
		return nil
	}
	return p.Gate("successor", &engine.Refusal{Check: "successor",
		Reason: fmt.Sprintf("nobody is known to lead, and %s may be the one: %s", from, loss),
		Hint:   "kubectl dbop diagnose " + p.S.Cluster.Name + " shows what each member says"}, p.Except([]string{from})...)
}

// warn says in a step that stops a leader without a successor what may be lost by it.
func (p Situation) warn(s *ops.Step, stops string, except ...string) {
	leader, ok := p.S.View.Leader()
	if !ok || leader.Name != stops || len(p.VoterNames()) < 2 || p.E.Successor(p.S.View, except...) != "" {
		return
	}
	if loss := p.E.AssessLoss(p.S.View, stops); loss != "" {
		s.Risk, s.Reason = ops.RiskIrreversible, "nobody takes over from it: "+loss
	}
}
