package ops

import (
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// besidesAlarms is the state as the planner judges it. For want of space a
// member neither votes nor serves any worse. So nobody begins to change size or
// version under that alarm; whatever else is asked for goes on, and so does
// what is in flight already, for nothing can clear the alarm before it ends. Of
// damage the engine may accuse the wrong member, so it bars nobody's
// replacement; whatever else restarts members leaves them alone under it.
func (s State) besidesAlarms() State {
	p := planner{s: s}
	switch s.verb() {
	case "":
		return s
	case v1alpha1.VerbClearAlarms, v1alpha1.VerbReplaceMember:
		s.View = s.View.Besides(engine.CauseSpace, engine.CauseDamage)
		return s
	case v1alpha1.VerbScale, v1alpha1.VerbAddMember, v1alpha1.VerbRemoveMember, v1alpha1.VerbUpgrade, v1alpha1.VerbDowngrade:
		if p.fresh() && !p.writtenDown() {
			return s
		}
	}
	s.View = s.View.Besides(engine.CauseSpace)
	return s
}

// clearAlarms removes the cause of every alarm, then takes the alarm back, and
// at last has every member take a write. Damage comes before space: nothing
// can be dropped while it stands.
func (p planner) clearAlarms() *Decision {
	if p.s.verb() != v1alpha1.VerbClearAlarms || p.s.cancelling() {
		return nil
	}
	if d := p.quorumFirst(); d != nil {
		return d
	}
	if len(p.s.View.Alarms) == 0 {
		return p.proof()
	}
	for _, a := range p.s.View.Raised(engine.CauseUnknown) {
		return block(&Error{Kind: NeedsHuman, Check: "alarm", Message: fmt.Sprintf("what %s, which stands against %s, means is not known to this tool", a.Name, whose(a)),
			Hint: "a newer version of this tool may know it"})
	}
	for _, name := range p.voterNames() {
		if err := p.e.Health(p.s.View, name); err != nil {
			return p.gate("healthy", err, name)
		}
	}
	if damage := p.s.View.Raised(engine.CauseDamage); len(damage) > 0 {
		if p.s.fact(v1alpha1.FactCompared) != "" {
			return p.disarm(damage, "all members have the same data")
		}
		return do(Step{ID: string(ActionCompare), Action: ActionCompare, Members: p.voterNames(), Risk: RiskNone, Deadline: waitDeadline,
			Title: "Compare the data of all members", Reason: "a damaged one is to be replaced before the alarm is taken back"})
	}
	if d := p.makeRoom(); d != nil {
		return d
	}
	return p.disarm(p.s.View.Raised(engine.CauseSpace), "there is space again")
}

// undamaged refuses to restart members of which one may be damaged: it might
// not come up again, and a majority may hang on it.
func (p planner) undamaged() *Decision {
	for _, a := range p.s.View.Raised(engine.CauseDamage) {
		return block(&Error{Kind: Refused, Check: "damage", Message: fmt.Sprintf("%s stands against %s, and a damaged member may not come up again", a.Name, whose(a)),
			Hint: fmt.Sprintf("kubectl dbop alarms clear %s compares all members and says which one is damaged", p.s.Cluster.Name)})
	}
	return nil
}

// disarm takes alarms of one name back.
func (p planner) disarm(alarms []engine.Alarm, why string) *Decision {
	name := alarms[0].Name
	var members []string
	for _, a := range alarms {
		if a.Name == name {
			members = append(members, whose(a))
		}
	}
	return do(Step{ID: string(ActionDisarm) + "/" + name, Action: ActionDisarm, Alarm: name, Members: members, Risk: RiskNone, Deadline: waitDeadline,
		Title: fmt.Sprintf("Take %s of %s back", name, strings.Join(members, ", ")), Reason: why})
}

// proof has every member take a write after an alarm was taken back.
func (p planner) proof() *Decision {
	if !p.began(ActionDisarm) || p.s.fact(v1alpha1.FactWritten) != "" {
		return nil
	}
	return do(Step{ID: string(ActionProveWrite), Action: ActionProveWrite, Members: p.voterNames(), Risk: RiskNone, Deadline: waitDeadline,
		Title: "Have every member take a write", Reason: "one that changes nothing for clients"})
}

// whose names the member that an alarm stands against, as far as it has a name.
func whose(a engine.Alarm) string {
	switch {
	case a.Member != "":
		return a.Member
	case a.MemberID == "":
		return "no member in particular"
	default:
		return a.MemberID + " (no member any more)"
	}
}

// checkAlarms refuses to clear what an engine does not raise.
func checkAlarms(e engine.Engine) error {
	if _, ok := e.(engine.Adviser); !ok {
		return &engine.Refusal{Check: "alarms", Reason: e.Name() + " raises no alarms", Hint: "kubectl dbop diagnose examines a cluster of any engine"}
	}
	return nil
}
