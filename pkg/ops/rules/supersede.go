package rules

import (
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
)

// Gone reports whether nothing but a replacement mends a member that has the
// version and the settings that are wanted.
func (p Situation) Gone(member string) bool {
	if p.E.Health(p.S.View, member) == nil || !p.Lost(member) {
		return false
	}
	m := p.S.Kube.Member(member)
	return !m.Volume.Exists || p.S.Now.Sub(m.Pod.Problem.Since) > patienceFor(m.Pod.Problem.Kind)
}

// spares reports whether, on the way back, another member may restart although
// this one is gone: the rest is a majority without both of them. The one that
// is gone is replaced afterwards.
func (p Situation) spares(gone, next string) bool {
	if !p.S.Cancelling() || !p.Gone(gone) {
		return false
	}
	return p.E.Health(p.S.View, next) != nil || p.E.Tolerates(p.S.View) > 0
}

// GivesWay reports whether the operation in flight may end where it is, so that
// a member that is gone can be replaced. That is where it can go neither on nor
// back without that member, and what the cluster wants by now is what a new
// member can join with: what was wanted before, on the way back while that is
// open; else the new, once everybody else has it.
func (p Situation) GivesWay(member string) bool {
	if p.Traits.Outdated == nil {
		return false
	}
	outdated := p.Traits.Outdated(p)
	if !p.Gone(member) || !p.S.View.Quorum {
		return false
	}
	if p.S.Cancelling() {
		return p.Traits.StaysOpen == nil || p.Traits.StaysOpen(p, member, outdated)
	}
	// One that crashes and is outdated may crash no more with what it is to have.
	problem := p.S.Kube.Member(member).Pod.Problem
	crashes := problem != nil && problem.Kind == observe.ProblemCrashing
	others := slices.DeleteFunc(slices.Clone(outdated), func(name string) bool { return name == member })
	return len(others) == 0 && (len(outdated) == 0 || !crashes)
}
