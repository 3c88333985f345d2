package ops

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// mending gives a member that can't start what is wanted of it while there is
// no quorum: it has nothing to lose, and quorum may never come back without it.
func (p planner) mending() *Decision {
	if p.s.View.Quorum {
		return nil
	}
	switch verb := p.s.verb(); {
	case verb == v1alpha1.VerbUpgrade && p.rolling():
		return p.mendVersion(p.upgradeStep)
	case verb == v1alpha1.VerbDowngrade && (p.s.cancelling() || p.someAsWanted()):
		return p.mendVersion(p.downgradeStep)
	case asksRoll(verb):
		return p.mendSettings()
	}
	return nil
}

// mendSettings serves a roll on its way, its way back, and one that is asked
// for because members can't start with the settings that they have.
func (p planner) mendSettings() *Decision {
	want := p.s.settings(p.e)
	for _, m := range p.s.Kube.Members {
		if !p.cantStart(m) || m.Workload.Version != p.s.Cluster.Spec.Version || (p.s.cancelling() && !p.touched(m.Name)) {
			continue
		}
		if m.Workload.Settings != want || m.Pod.Settings != want {
			step := p.rollStep(m.Name, RiskNone)
			step.Reason = "it does not start as it is, and without it there is no quorum"
			return do(step)
		}
	}
	return nil
}

// cantStart reports whether a member is down for a reason that has lasted and
// that another image, other options or more memory may mend.
func (p planner) cantStart(m kube.Member) bool {
	problem := m.Pod.Problem
	if !p.s.ours(m) || !m.Workload.Exists || m.Pod.Running || problem == nil || p.s.Now.Sub(problem.Since) <= patience {
		return false
	}
	switch problem.Kind {
	case kube.ProblemImage, kube.ProblemCrashing, kube.ProblemConfig:
		return true
	case kube.ProblemOOM, kube.ProblemUnschedulable, kube.ProblemDisk:
		return asksRoll(p.s.verb())
	}
	return false
}

// mendVersion serves an upgrade or a downgrade whose restarts have begun, and the way back.
func (p planner) mendVersion(step func(member string, risk Risk) Step) *Decision {
	want := p.s.Cluster.Spec.Version
	for _, m := range p.s.Kube.Members {
		if p.cantStart(m) && (m.Workload.Version != want || m.Pod.Version != want) {
			s := step(m.Name, RiskNone)
			s.Title, s.Reason = fmt.Sprintf("Give %s version %s", m.Name, want), "it does not start as it is, and without it there is no quorum"
			return do(s)
		}
	}
	return nil
}

// rolling reports whether restarts have begun, and, on the way back, whether a
// member is left that was never moved: without one the data may have changed
// its format, and putting more members back would only lose more of them.
func (p planner) rolling() bool {
	if p.s.cancelling() {
		return p.someAsWanted()
	}
	return p.began(ActionUpgrade)
}

// someAsWanted reports whether a member is of the wanted version.
func (p planner) someAsWanted() bool {
	want := p.s.Cluster.Spec.Version
	for _, m := range p.s.Kube.Members {
		if p.s.ours(m) && m.Workload.Exists && m.Workload.Version == want && (!m.Pod.Exists || m.Pod.Version == want) {
			return true
		}
	}
	return false
}
