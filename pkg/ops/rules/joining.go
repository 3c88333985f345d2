package rules

import (
	"cmp"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// Joining finishes joins, no matter who began them: learners in the roster are
// started, then promoted on the leader's word one after the other, or withdrawn
// if nobody wants them any more. As many join side by side as the engine says.
func (p Situation) Joining() *ops.Decision {
	if d := p.QuorumFirst(); d != nil {
		return d
	}
	learners := slices.DeleteFunc(p.S.View.Joining(), func(r engine.Registered) bool {
		return v1alpha1.MemberNumber(p.S.Cluster.Name, r.Name) == 0 // nobody of ours, and nothing to start
	})
	if len(learners) == 0 {
		return nil
	}
	slices.SortFunc(learners, func(a, b engine.Registered) int {
		return cmp.Compare(v1alpha1.MemberNumber(p.S.Cluster.Name, a.Name), v1alpha1.MemberNumber(p.S.Cluster.Name, b.Name))
	})
	wanted, surplus := p.wantedOf(learners)
	if len(wanted) == 0 {
		name := surplus[0].Name
		return Do(ops.Step{ID: "deregister-member/" + name, Action: ops.ActionDeregister, Members: []string{name},
			Risk: ops.RiskNone, Deadline: WaitDeadline,
			Title: "Withdraw learner " + name, Reason: "it has no vote, so quorum is not touched"})
	}
	var names []string
	for _, l := range wanted {
		names = append(names, l.Name)
	}
	if d := p.besides(learners); d != nil {
		return d
	}
	if missing := p.unstarted(names); len(missing) > 0 {
		reason := "it is registered as a learner"
		if len(missing) > 1 {
			reason = "they are registered as learners"
		}
		return p.Start(missing, reason)
	}
	return p.finishing(wanted)
}

// wantedOf divides learners into those that are to join and those that nobody wants any more.
func (p Situation) wantedOf(learners []engine.Registered) (wanted, surplus []engine.Registered) {
	data, witnesses := ops.Missing(p.E, p.S)
	missing := map[bool]int{false: data, true: witnesses}
	for _, l := range learners {
		if missing[l.Witness] > 0 {
			missing[l.Witness]--
			wanted = append(wanted, l)
		} else {
			surplus = append(surplus, l)
		}
	}
	return wanted, surplus
}

// besides registers one more member beside those that are joining. None of them may have been started: each is told the
// whole list of members, and is refused by the others if it was told another one. The checks are those that hold for
// the first of them.
func (p Situation) besides(learners []engine.Registered) *ops.Decision {
	var names []string
	count := map[bool]int{}
	for _, l := range learners {
		names, count[l.Witness] = append(names, l.Name), count[l.Witness]+1
	}
	data, _ := ops.Missing(p.E, p.S)
	switch {
	case data <= count[false], len(p.unstarted(names)) < len(names),
		len(p.S.View.Joining()) >= ops.JoinsAtOnce(p.E, p.S), p.E.CheckAdd(p.S.View.WithoutJoining()) != nil:
		return nil
	}
	return p.register(false)
}

// finishing brings joiners to their end in their order, as planned, whichever is up first.
func (p Situation) finishing(joiners []engine.Registered) *ops.Decision {
	var names, why []string
	for i, l := range joiners {
		said := p.notYet(l)
		if said == "" && i == 0 {
			return Do(ops.Step{ID: "promote-member/" + l.Name, Action: ops.ActionPromote, Members: []string{l.Name},
				Risk: ops.RiskNone, Deadline: StreamDeadline,
				Title: "Give " + l.Name + " its vote", Reason: "once the leader says that it has caught up"})
		}
		if said != "" {
			names, why = append(names, l.Name), append(why, l.Name+said)
		}
	}
	for _, l := range joiners {
		if !p.S.View.Member(l.Name).Reachable || !l.Started {
			if d := p.revive(l.Name); d != nil {
				return d
			}
		}
	}
	return p.Await("joined", strings.Join(why, ", "), names...)
}

// notYet says what a joiner still has to do before it can be given its vote; "" for nothing.
func (p Situation) notYet(l engine.Registered) string {
	switch m := p.S.View.Member(l.Name); {
	case !m.Reachable:
		return " does not answer yet"
	case !l.Started:
		return " has not announced itself yet"
	case !p.E.Capabilities().Learners:
		return " catches up with the others"
	}
	return ""
}

// register announces one more member to the database.
func (p Situation) register(witness bool) *ops.Decision {
	name := p.S.FreeName()
	title, reason := "Register "+name+" as a learner", "a learner has no vote, so a start that fails costs nothing"
	switch {
	case witness:
		title, reason = "Register "+name+" as a witness", "it votes and holds no data, so that an odd number votes"
	case !p.E.Capabilities().Learners:
		title, reason = "Register "+name, "it has no vote until it has what it needs, so a start that fails costs nothing"
	}
	return Do(ops.Step{ID: "register-member/" + name, Action: ops.ActionRegister, Members: []string{name},
		Witness: witness, Risk: ops.RiskNone,
		Deadline: WaitDeadline, Title: title, Reason: reason})
}
