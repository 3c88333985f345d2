package ops

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// Decide says what comes next: one step, one wait, a block, or nothing. It is
// pure and total; every driver asks it, and only it. The families are asked in
// an order of safety: identity before anything else, a half-made cluster before
// its members, an interrupted join before a new one, versions before size.
func Decide(e engine.Engine, s State) Decision {
	p := planner{e: e, s: s.besidesAlarms()}
	if s.Cluster == nil {
		return Decision{Done: true}
	}
	for _, family := range []func() *Decision{
		p.paused,
		p.identity,
		p.apart,
		p.intact,
		p.renewal,
		p.deletion,
		p.restoreInPlace,
		p.recovery,
		p.rebuilding,
		p.founding,
		p.sealing,
		p.repair,
		p.templates,
		p.certificates,
		p.stopping,
		p.starting,
		p.backup,
		p.growing,
		p.authentication,
		p.userChange,
		p.rotation,
		p.mending,
		p.replace,
		p.expel,
		p.joining,
		p.leaving,
		p.upgrade,
		p.reconfigure,
		p.downgrade,
		p.mayResize,
		p.budget,
		p.scheduling,
		p.size,
		p.switchover,
		p.restart,
		p.defragment,
		p.compact,
		p.clearAlarms,
		p.healthy,
	} {
		if d := family(); d != nil {
			return *d
		}
	}
	return Decision{Done: true}
}

// planner is one question to the planner.
type planner struct {
	e engine.Engine
	s State
}

// identity stops everything where it is unclear whose data this is.
func (p planner) identity() *Decision {
	if len(p.s.Kube.Foreign) > 0 {
		return block(&Error{Kind: Refused, Check: "foreign-objects",
			Message: fmt.Sprintf("%v bear names of cluster %s but do not belong to it", p.s.Kube.Foreign, p.s.Cluster.Name),
			Hint:    "choose another name, or remove these objects if nobody needs them"})
	}
	if p.s.verb() == v1alpha1.VerbDelete {
		return nil
	}
	if p.s.Cluster.Status.Formation == nil {
		return block(noFounding(p.s.Cluster))
	}
	if len(p.s.View.ClusterIDs) > 1 {
		return block(&Error{Kind: NeedsHuman, Check: "split",
			Message: fmt.Sprintf("the members of %s belong to different database clusters (%v): this is a split, and going on could lose data", p.s.Cluster.Name, p.s.View.ClusterIDs),
			Hint:    "kubectl dbop status " + p.s.Cluster.Name + " -o wide shows which member belongs to which"})
	}
	if want := p.s.formation().ClusterID; want != "" {
		for _, id := range p.s.View.ClusterIDs {
			if id != want {
				return block(&Error{Kind: NeedsHuman, Check: "cluster-id",
					Message: fmt.Sprintf("the members of %s say cluster ID %s, but %s was recorded when it formed", p.s.Cluster.Name, id, want),
					Hint:    "find out who replaced the data before anything else is done"})
			}
		}
	}
	return nil
}

// noFounding is the refusal to act on a record that somebody damaged: without
// the token nobody knows which objects are the cluster's.
func noFounding(c *v1alpha1.DatabaseCluster) *Error {
	return &Error{Kind: NeedsHuman, Check: "record", Message: fmt.Sprintf("the record of %s in configmap %s does not say how it was founded", c.Name, v1alpha1.Record(c.Name)),
		Hint: "put the configmap back from a copy"}
}

// budget keeps the disruption budget at the quorum of the larger of now and
// soon: evictions by others must not undercut a size that is being reached.
// Without a member list that a majority stands behind it stays as it is.
func (p planner) budget() *Decision {
	if !p.s.View.Quorum {
		return nil
	}
	n := max(int(p.s.Cluster.Spec.Members), len(p.s.View.Voters()))
	var want int32
	if n > 1 {
		want = int32(n/2 + 1) // #nosec G115 -- a cluster's size fits
	}
	var have int32
	if p.s.Kube.Budget != nil {
		have = *p.s.Kube.Budget
	}
	if want == have {
		return nil
	}
	title := fmt.Sprintf("Let evictions leave at least %d members", want)
	if want == 0 {
		title = "Drop the disruption budget: one member can't have one"
	}
	return do(Step{ID: "set-budget", Action: ActionBudget, Title: title, Risk: RiskNone, Budget: want,
		Touches: []string{"poddisruptionbudget/" + p.s.Cluster.Name}, Deadline: stepDeadline})
}

// healthy is the last word of every operation that touches members: not
// before all of them say so. One that is being stepped back must come to an
// end even if a member is lost for good, or it would bar the way to its
// replacement.
func (p planner) healthy() *Decision {
	switch p.s.verb() {
	case v1alpha1.VerbBackup, v1alpha1.VerbSwitchover, v1alpha1.VerbCompact, v1alpha1.VerbClearAlarms:
		return nil
	}
	if p.s.cancelling() {
		return nil
	}
	for _, r := range p.s.View.Voters() {
		if err := p.e.Health(p.s.View, r.Name); err != nil {
			d := p.await("healthy", err.Error(), r.Name)
			if m := p.s.Kube.Member(r.Name); !m.Volume.Exists && !m.Workload.Exists {
				d = block(p.replaceFirst(r.Name))
			}
			if d.Blocked != nil && p.noWayBack() && p.lost(r.Name) {
				continue
			}
			return d
		}
	}
	return nil
}

// noWayBack reports whether the operation can't be stepped back. It must not
// bar the way to the replacement of a member that was lost meanwhile: what it
// was asked for is reached.
func (p planner) noWayBack() bool {
	switch p.s.verb() {
	case v1alpha1.VerbCreate, v1alpha1.VerbRestore, v1alpha1.VerbRemoveMember, v1alpha1.VerbReplaceMember, v1alpha1.VerbStart, v1alpha1.VerbRecover:
		return p.s.View.Quorum
	}
	return false
}

// lost reports whether a member's problem is one that a replacement mends.
func (p planner) lost(member string) bool {
	m := p.s.Kube.Member(member)
	if !m.Volume.Exists {
		return true
	}
	return m.Pod.Problem != nil && (m.Pod.Problem.Kind == kube.ProblemCrashing || m.Pod.Problem.Kind == kube.ProblemNode)
}

// fresh reports whether the operation in flight has done nothing yet, so that
// an objection is a refusal rather than a pause.
func (p planner) fresh() bool {
	return p.s.Operation != nil && len(p.s.Operation.Status.Journal) == 0
}

// writtenDown reports whether the operation in flight is a record already, and
// not only looked at.
func (p planner) writtenDown() bool { return p.s.Operation.ResourceVersion != "" }

// leaves reports whether the member goes with this operation, whatever its problem.
func (p planner) leaves(name string) bool {
	verb := p.s.verb()
	if verb != v1alpha1.VerbRemoveMember && verb != v1alpha1.VerbReplaceMember || p.s.Operation.Spec.Member != name {
		return false
	}
	entry, registered := p.s.View.Registered(name)
	if !registered {
		return !p.s.View.Quorum
	}
	return verb == v1alpha1.VerbRemoveMember || entry.ID == p.s.Operation.Spec.MemberID
}

func block(e *Error) *Decision { return &Decision{Blocked: e} }

func do(s Step) *Decision { return &Decision{Step: &s} }
