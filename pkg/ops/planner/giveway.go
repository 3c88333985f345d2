package planner

import (
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// gone reports whether nothing but a replacement mends a member that has the
// version and the settings that are wanted.
func (p Planner) gone(member string) bool {
	if p.E.Health(p.S.View, member) == nil || !p.lost(member) {
		return false
	}
	m := p.S.Kube.Member(member)
	return !m.Volume.Exists || p.S.Now.Sub(m.Pod.Problem.Since) > patienceFor(m.Pod.Problem.Kind)
}

// spares reports whether, on the way back, another member may restart although
// this one is gone: the rest is a majority without both of them. The one that
// is gone is replaced afterwards.
func (p Planner) spares(gone, next string) bool {
	if !p.S.Cancelling() || !p.gone(gone) {
		return false
	}
	return p.E.Health(p.S.View, next) != nil || p.E.Tolerates(p.S.View) > 0
}

// GivesWay reports whether the operation in flight may end where it is, so that
// a member that is gone can be replaced. That is where it can go neither on nor
// back without that member, and what the cluster wants by now is what a new
// member can join with: what was wanted before, on the way back while that is
// open; else the new, once everybody else has it.
func (p Planner) GivesWay(member string) bool {
	var outdated []string
	switch p.S.Verb() {
	case v1alpha1.VerbUpgrade, v1alpha1.VerbDowngrade:
		outdated = p.outdated()
	case v1alpha1.VerbConfigure, v1alpha1.VerbResize:
		outdated = p.unsettled()
	default:
		return false
	}
	if !p.gone(member) || !p.S.View.Quorum {
		return false
	}
	if p.S.Cancelling() {
		return p.S.Verb() != v1alpha1.VerbUpgrade || p.staysBelow(member, outdated)
	}
	// One that crashes and is outdated may crash no more with what it is to have.
	problem := p.S.Kube.Member(member).Pod.Problem
	crashes := problem != nil && problem.Kind == observe.ProblemCrashing
	others := slices.DeleteFunc(slices.Clone(outdated), func(name string) bool { return name == member })
	return len(others) == 0 && (len(outdated) == 0 || !crashes)
}

// staysBelow reports whether one of the former version may join an upgraded
// cluster still once a member has left: as soon as everybody else runs the
// newer series, the database may take the last step.
func (p Planner) staysBelow(left string, outdated []string) bool {
	target := p.S.Cluster.Spec.Version
	if p.E.CheckRollback(p.S.View, target) != nil {
		return false
	}
	return ops.Minor(p.S.Operation.Spec.Version) == ops.Minor(target) || slices.ContainsFunc(p.except(outdated), func(name string) bool { return name != left && !p.gone(name) })
}
