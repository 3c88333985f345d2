package planner

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// asksRoll reports whether a verb asks members to run with the settings that
// the cluster wants. No other verb restarts them for it.
func asksRoll(v v1alpha1.Verb) bool {
	return v == v1alpha1.VerbConfigure || v == v1alpha1.VerbResize
}

// reconfigure is the roll of the verbs that change settings and nothing else.
func (p Planner) reconfigure() *ops.Decision {
	if !asksRoll(p.S.Verb()) {
		return nil
	}
	return p.roll()
}

// roll brings every voter to the wanted settings, one by one, and goes back
// the same way: cancel wants the former settings, and moves those that this
// operation has moved. nil once all have them; whether all are well is asked
// by the family healthy, and on the way back here.
func (p Planner) roll() *ops.Decision {
	outdated := p.unsettled()
	if len(outdated) == 0 {
		return p.movedBack()
	}
	if !p.Began(ops.ActionRoll) {
		if d := p.mayRestart(); d != nil {
			return d
		}
		if d := p.oneVersion(); d != nil {
			return d
		}
		if err := p.E.CheckSettings(p.S.View, p.S.Cluster.Spec, p.S.Waives("size")); err != nil && !p.S.Cancelling() {
			return block(ops.Refusal(err))
		}
	}
	return p.inTurn(outdated, "the leader restarts last, after it handed over to a member with the new settings", p.rollStep)
}

// movedBack waits, on the way back, for the members that were moved. One that
// was lost meanwhile must not bar the way to its replacement.
func (p Planner) movedBack() *ops.Decision {
	if !p.S.Cancelling() {
		return nil
	}
	for _, name := range p.voterNames() {
		if err := p.E.Health(p.S.View, name); err != nil && p.touched(name) && !p.lost(name) {
			return p.await("healthy", err.Error(), name)
		}
	}
	return nil
}

func (p Planner) rollStep(next string, risk ops.Risk) ops.Step {
	title := fmt.Sprintf("Restart %s with the new settings", next)
	if p.S.Cancelling() {
		title = fmt.Sprintf("Restart %s with the former settings", next)
	}
	return ops.Step{ID: string(ops.ActionRoll) + "/" + next, Action: ops.ActionRoll, Members: []string{next}, Risk: risk, Deadline: WaitDeadline,
		Title: title, Touches: []string{"statefulset/" + next, "pod/" + v1alpha1.PodName(next)}}
}

// unsettled lists voters whose workload or pod has other settings than wanted.
// On the way back only those that this operation touched count: the others
// never had anything else, even if another tool would write it differently.
func (p Planner) unsettled() []string {
	var out []string
	want := Settings(p.S, p.E)
	for _, name := range p.voterNames() {
		m := p.S.Kube.Member(name)
		if !m.Workload.Exists || (p.S.Cancelling() && !p.touched(name)) {
			continue
		}
		if m.Workload.Settings != want || (m.Pod.Exists && m.Pod.Settings != want) {
			out = append(out, name)
		}
	}
	return out
}

// touched reports whether this operation gave a member other settings, as its journal says.
func (p Planner) touched(member string) bool {
	for _, e := range p.S.Operation.Status.Journal {
		if e.Step == string(ops.ActionRoll)+"/"+member {
			return true
		}
	}
	return false
}

// oneVersion refuses to roll members of which one would change its version by
// it: that is an upgrade, with checks and a backup of its own.
func (p Planner) oneVersion() *ops.Decision {
	for _, name := range p.voterNames() {
		if w := p.S.Kube.Member(name).Workload; w.Exists && w.Version != p.S.Cluster.Spec.Version {
			return block(&ops.Error{Kind: ops.Refused, Check: "mixed-versions",
				Message: fmt.Sprintf("%s is of version %s and %s wants %s, so a restart would change its version", name, w.Version, p.S.Cluster.Name, p.S.Cluster.Spec.Version),
				Hint:    fmt.Sprintf("kubectl dbop upgrade %s --version %s", p.S.Cluster.Name, p.S.Cluster.Spec.Version)})
		}
	}
	return nil
}
