package ops

import (
	"fmt"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// gone reports whether nothing but a replacement mends a member that has the
// version and the settings that are wanted.
func (p planner) gone(member string) bool {
	if p.e.Health(p.s.View, member) == nil || !p.lost(member) {
		return false
	}
	m := p.s.Kube.Member(member)
	return !m.Volume.Exists || p.s.Now.Sub(m.Pod.Problem.Since) > patienceFor(m.Pod.Problem.Kind)
}

// spares reports whether, on the way back, another member may restart although
// this one is gone: the rest is a majority without both of them. The one that
// is gone is replaced afterwards.
func (p planner) spares(gone, next string) bool {
	if !p.s.cancelling() || !p.gone(gone) {
		return false
	}
	return p.e.Health(p.s.View, next) != nil || p.e.Tolerates(p.s.View) > 0
}

// givesWay reports whether the operation in flight may end where it is, so that
// a member that is gone can be replaced. That is where it can go neither on nor
// back without that member, and what the cluster wants by now is what a new
// member can join with: what was wanted before, on the way back while that is
// open; else the new, once everybody else has it.
func (p planner) givesWay(member string) bool {
	var outdated []string
	switch p.s.verb() {
	case v1alpha1.VerbUpgrade, v1alpha1.VerbDowngrade:
		outdated = p.outdated()
	case v1alpha1.VerbConfigure, v1alpha1.VerbResize:
		outdated = p.unsettled()
	default:
		return false
	}
	if !p.gone(member) || !p.s.View.Quorum {
		return false
	}
	if p.s.cancelling() {
		return p.s.verb() != v1alpha1.VerbUpgrade || p.staysBelow(member, outdated)
	}
	// One that crashes and is outdated may crash no more with what it is to have.
	problem := p.s.Kube.Member(member).Pod.Problem
	crashes := problem != nil && problem.Kind == kube.ProblemCrashing
	others := slices.DeleteFunc(slices.Clone(outdated), func(name string) bool { return name == member })
	return len(others) == 0 && (len(outdated) == 0 || !crashes)
}

// staysBelow reports whether one of the former version may join an upgraded
// cluster still once a member has left: as soon as everybody else runs the
// newer series, the database may take the last step.
func (p planner) staysBelow(left string, outdated []string) bool {
	target := p.s.Cluster.Spec.Version
	if p.e.CheckRollback(p.s.View, target) != nil {
		return false
	}
	return minor(p.s.Operation.Spec.Version) == minor(target) || slices.ContainsFunc(p.except(outdated), func(name string) bool { return name != left && !p.gone(name) })
}

// mayGiveWay judges whether a replacement may take over from the operation that
// it would put an end to, by what was observed for it.
func (r *Runner) mayGiveWay(p *Prepared, c *v1alpha1.DatabaseCluster) error {
	old := p.Supersedes
	if old == nil || untouched(old) {
		return nil
	}
	if succeedsIn(p.Request.Operation, old) {
		if p.State.AuthorityOver() {
			return nil
		}
		return inFlight(old, c)
	}
	if !replacesIn(p.Request.Operation, old) {
		return nil // it gives way to whatever comes
	}
	s := p.State.clone()
	s.Cluster, s.Operation = c.DeepCopy(), old.DeepCopy()
	s.Cluster.Spec.Paused = false
	d := r.decider()(r.Engine, s)
	if d.Blocked != nil && (planner{e: r.Engine, s: s}).givesWay(p.Request.Operation.Member) {
		return nil
	}
	e := inFlight(old, c)
	if old.Status.Phase == v1alpha1.PhaseCancelling {
		e.Hint = fmt.Sprintf("continue it first: kubectl dbop resume %s, or kubectl dbop cancel %s; a replacement takes over where neither goes on for want of that member", old.Spec.Cluster, old.Spec.Cluster)
	} else {
		e.Hint = fmt.Sprintf("step back first: kubectl dbop cancel %s; a replacement takes over where that does not go on for want of the member", old.Spec.Cluster)
	}
	return e
}

// Interrupted is the command that asks again for what this request puts an end
// to; "" if that was nothing, or was not wanted any more.
func (p *Prepared) Interrupted() string {
	if old := p.Supersedes; old != nil && replacesIn(p.Request.Operation, old) && old.Status.Phase != v1alpha1.PhaseCancelling {
		return old.Spec.Command
	}
	return ""
}

// succeedsIn reports whether the request is to replace an authority that may
// have run out in the middle of an operation on a cluster that had formed.
func succeedsIn(o v1alpha1.OperationSpec, active *v1alpha1.Operation) bool {
	if o.Verb != v1alpha1.VerbRotateCertificates || o.Rotation != v1alpha1.RotateAtOnce {
		return false
	}
	switch active.Spec.Verb {
	case v1alpha1.VerbCreate, v1alpha1.VerbRestore, v1alpha1.VerbRecover, v1alpha1.VerbDelete:
		return false
	}
	return true
}

// replacesIn reports whether the request is to replace a member that may have
// been lost in the middle of an operation which restarts members.
func replacesIn(o v1alpha1.OperationSpec, active *v1alpha1.Operation) bool {
	if o.Verb != v1alpha1.VerbReplaceMember {
		return false
	}
	switch active.Spec.Verb {
	case v1alpha1.VerbUpgrade, v1alpha1.VerbDowngrade, v1alpha1.VerbConfigure, v1alpha1.VerbResize:
		return true
	}
	return false
}
