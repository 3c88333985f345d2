package planner

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// mending gives a member that can't start what is wanted of it while there is
// no quorum: it has nothing to lose, and quorum may never come back without it.
func (p Planner) mending() *ops.Decision {
	if p.S.View.Quorum {
		return nil
	}
	switch verb := p.S.Verb(); {
	case verb == v1alpha1.VerbUpgrade && p.rolling():
		return p.mendVersion(p.upgradeStep)
	case verb == v1alpha1.VerbDowngrade && (p.S.Cancelling() || p.someAsWanted()):
		return p.mendVersion(p.downgradeStep)
	case asksRoll(verb):
		return p.mendSettings()
	}
	return nil
}

// mendSettings serves a roll on its way, its way back, and one that is asked
// for because members can't start with the settings that they have.
func (p Planner) mendSettings() *ops.Decision {
	want := Settings(p.S, p.E)
	for _, m := range p.S.Kube.Members {
		if !p.cantStart(m) || m.Workload.Version != p.S.Cluster.Spec.Version || (p.S.Cancelling() && !p.touched(m.Name)) {
			continue
		}
		if m.Workload.Settings != want || m.Pod.Settings != want {
			step := p.rollStep(m.Name, ops.RiskNone)
			step.Reason = "it does not start as it is, and without it there is no quorum"
			return do(step)
		}
	}
	return nil
}

// cantStart reports whether a member is down for a reason that has lasted and
// that another image, other options or more memory may mend.
func (p Planner) cantStart(m observe.Member) bool {
	problem := m.Pod.Problem
	if !p.S.Ours(m) || !m.Workload.Exists || m.Pod.Running || problem == nil || p.S.Now.Sub(problem.Since) <= Patience {
		return false
	}
	switch problem.Kind {
	case observe.ProblemImage, observe.ProblemCrashing, observe.ProblemConfig:
		return true
	case observe.ProblemOOM, observe.ProblemUnschedulable, observe.ProblemDisk:
		return asksRoll(p.S.Verb())
	}
	return false
}

// mendVersion serves an upgrade or a downgrade whose restarts have begun, and the way back.
func (p Planner) mendVersion(step func(member string, risk ops.Risk) ops.Step) *ops.Decision {
	want := p.S.Cluster.Spec.Version
	for _, m := range p.S.Kube.Members {
		if p.cantStart(m) && (m.Workload.Version != want || m.Pod.Version != want) {
			s := step(m.Name, ops.RiskNone)
			s.Title, s.Reason = fmt.Sprintf("Give %s version %s", m.Name, want), "it does not start as it is, and without it there is no quorum"
			return do(s)
		}
	}
	return nil
}

// rolling reports whether restarts have begun, and, on the way back, whether a
// member is left that was never moved: without one the data may have changed
// its format, and putting more members back would only lose more of them.
func (p Planner) rolling() bool {
	if p.S.Cancelling() {
		return p.someAsWanted()
	}
	return p.Began(ops.ActionUpgrade)
}

// someAsWanted reports whether a member is of the wanted version.
func (p Planner) someAsWanted() bool {
	want := p.S.Cluster.Spec.Version
	for _, m := range p.S.Kube.Members {
		if p.S.Ours(m) && m.Workload.Exists && m.Workload.Version == want && (!m.Pod.Exists || m.Pod.Version == want) {
			return true
		}
	}
	return false
}
