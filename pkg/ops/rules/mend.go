package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// RollStep restarts one member with the settings that the cluster wants, or wanted before.
func (p Situation) RollStep(next string, risk ops.Risk) ops.Step {
	title := fmt.Sprintf("Restart %s with the new settings", next)
	if p.S.Cancelling() {
		title = fmt.Sprintf("Restart %s with the former settings", next)
	}
	if p.OnlyImage() && p.E.Capabilities().Agent {
		title = fmt.Sprintf("Restart %s with the agent of %s", next, p.S.Cluster.Spec.HelperImage)
	}
	return ops.Step{ID: string(ops.ActionRoll) + "/" + next, Action: ops.ActionRoll, Members: []string{next}, Risk: risk,
		Deadline: WaitDeadline,
		Title:    title, Touches: []string{"statefulset/" + next, "pod/" + v1alpha1.PodName(next)}}
}

// Touched reports whether this operation gave a member other settings, as its
// journal says: by a restart, or because it was started meanwhile.
func (p Situation) Touched(member string) bool {
	for _, e := range p.S.Operation.Status.Journal {
		started, starts := strings.CutPrefix(e.Step, string(ops.ActionStart)+"/")
		if e.Step == string(ops.ActionRoll)+"/"+member || starts && slices.Contains(strings.Split(started, ","), member) {
			return true
		}
	}
	return false
}

// MendSettings serves a roll on its way, its way back, and one that is asked
// for because members can't start with the settings that they have.
func (p Situation) MendSettings() *ops.Decision {
	for _, m := range p.S.Kube.Members {
		if !p.cantStart(m) || m.Workload.Version != p.S.Cluster.Spec.Version || (p.S.Cancelling() && !p.Touched(m.Name)) {
			continue
		}
		if p.OtherSettings(m) || p.OtherPod(m.Pod) {
			step := p.RollStep(m.Name, ops.RiskNone)
			step.Reason = "it does not start as it is, and without it there is no quorum"
			return Do(step)
		}
	}
	return nil
}

// cantStart reports whether a member is down for a reason that has lasted and
// that another image, other options or more memory may mend.
func (p Situation) cantStart(m observe.Member) bool {
	problem := m.Pod.Problem
	if !p.S.Ours(m) || !m.Workload.Exists || m.Pod.Running || problem == nil || p.S.Now.Sub(problem.Since) <= Limit {
		return false
	}
	switch problem.Kind {
	case observe.ProblemImage, observe.ProblemCrashing, observe.ProblemConfig:
		return true
	case observe.ProblemOOM, observe.ProblemUnschedulable, observe.ProblemDisk:
		return p.Traits.NewSettings
	}
	return false
}

// MendVersion serves an upgrade or a downgrade whose restarts have started, and the way back.
func (p Situation) MendVersion(step func(member string, risk ops.Risk) ops.Step) *ops.Decision {
	want := p.S.Cluster.Spec.Version
	for _, m := range p.S.Kube.Members {
		if p.cantStart(m) && (m.Workload.Version != want || m.Pod.Version != want) {
			s := step(m.Name, ops.RiskNone)
			s.Title, s.Reason = fmt.Sprintf("Give %s version %s", m.Name, want),
				"it does not start as it is, and without it there is no quorum"
			return Do(s)
		}
	}
	return nil
}

// SomeAsWanted reports whether a member is of the wanted version.
func (p Situation) SomeAsWanted() bool {
	want := p.S.Cluster.Spec.Version
	for _, m := range p.S.Kube.Members {
		if p.S.Ours(m) && m.Workload.Exists && m.Workload.Version == want && (!m.Pod.Exists || m.Pod.Version == want) {
			return true
		}
	}
	return false
}
