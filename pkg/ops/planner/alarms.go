package planner

import (
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// besidesAlarms is the state as the planner judges it. For want of space a
// member neither votes nor serves any worse. So nobody begins to change size or
// version under that alarm; whatever else is asked for goes on, and so does
// what is in flight already, for nothing can clear the alarm before it ends. Of
// damage the engine may accuse the wrong member, so it bars nobody's
// replacement; whatever else restarts members leaves them alone under it.
func besidesAlarms(s ops.State) ops.State {
	p := Planner{S: s}
	switch s.Verb() {
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
func (p Planner) clearAlarms() *ops.Decision {
	if p.S.Verb() != v1alpha1.VerbClearAlarms || p.S.Cancelling() {
		return nil
	}
	if d := p.quorumFirst(); d != nil {
		return d
	}
	if len(p.S.View.Alarms) == 0 {
		return p.proof()
	}
	for _, a := range p.S.View.Raised(engine.CauseUnknown) {
		return block(&ops.Error{Kind: ops.NeedsHuman, Check: "alarm", Message: fmt.Sprintf("what %s, which is raised for %s, means is not known to this tool", a.Name, health.Whose(a)),
			Hint: "a newer version of this tool may know it"})
	}
	for _, name := range p.voterNames() {
		if err := p.E.Health(p.S.View, name); err != nil {
			return p.gate("healthy", err, name)
		}
	}
	if damage := p.S.View.Raised(engine.CauseDamage); len(damage) > 0 {
		if p.S.Fact(v1alpha1.FactCompared) != "" {
			return p.disarm(damage, "all members have the same data")
		}
		return do(ops.Step{ID: string(ops.ActionCompare), Action: ops.ActionCompare, Members: p.voterNames(), Risk: ops.RiskNone, Deadline: WaitDeadline,
			Title: "Compare the data of all members", Reason: "a damaged one is to be replaced before the alarm is taken back"})
	}
	if d := p.makeRoom(); d != nil {
		return d
	}
	return p.disarm(p.S.View.Raised(engine.CauseSpace), "there is space again")
}

// undamaged refuses to restart members of which one may be damaged: it might
// not come up again, and a majority may hang on it.
func (p Planner) undamaged() *ops.Decision {
	for _, a := range p.S.View.Raised(engine.CauseDamage) {
		return block(&ops.Error{Kind: ops.Refused, Check: "damage", Message: fmt.Sprintf("%s is raised for %s, and a damaged member may not come up again", a.Name, health.Whose(a)),
			Hint: fmt.Sprintf("kubectl dbop alarms clear %s compares all members and says which one is damaged", p.S.Cluster.Name)})
	}
	return nil
}

// disarm takes alarms of one name back.
func (p Planner) disarm(alarms []engine.Alarm, why string) *ops.Decision {
	name := alarms[0].Name
	var members []string
	for _, a := range alarms {
		if a.Name == name {
			members = append(members, health.Whose(a))
		}
	}
	return do(ops.Step{ID: string(ops.ActionDisarm) + "/" + name, Action: ops.ActionDisarm, Alarm: name, Members: members, Risk: ops.RiskNone, Deadline: WaitDeadline,
		Title: fmt.Sprintf("Take %s of %s back", name, strings.Join(members, ", ")), Reason: why})
}

// proof has every member take a write after an alarm was taken back.
func (p Planner) proof() *ops.Decision {
	if !p.Began(ops.ActionDisarm) || p.S.Fact(v1alpha1.FactWritten) != "" {
		return nil
	}
	return do(ops.Step{ID: string(ops.ActionProveWrite), Action: ops.ActionProveWrite, Members: p.voterNames(), Risk: ops.RiskNone, Deadline: WaitDeadline,
		Title: "Have every member take a write", Reason: "one that changes nothing for clients"})
}
