package planner

import (
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// Decide says what comes next: one step, one wait, a block, or nothing. It is
// pure and total; every driver asks it, and only it. The families are asked in
// an order of safety: identity before anything else, a half-made cluster before
// its members, an interrupted join before a new one, versions before size.
func Decide(e engine.Engine, s ops.State) ops.Decision {
	p := Planner{E: e, S: besidesAlarms(s)}
	if s.Cluster == nil {
		return ops.Decision{Done: true}
	}
	for _, family := range []func() *ops.Decision{
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
		p.Scheduling,
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
	return ops.Decision{Done: true}
}

// Planner is one question to the planner.
type Planner struct {
	E engine.Engine
	S ops.State
}

// identity stops everything where it is unclear whose data this is.
func (p Planner) identity() *ops.Decision {
	if len(p.S.Kube.Foreign) > 0 {
		return block(&ops.Error{Kind: ops.Refused, Check: "foreign-objects",
			Message: fmt.Sprintf("%v bear names of cluster %s but do not belong to it", p.S.Kube.Foreign, p.S.Cluster.Name),
			Hint:    "choose another name, or remove these objects if nobody needs them"})
	}
	if p.S.Verb() == v1alpha1.VerbDelete {
		return nil
	}
	if p.S.Cluster.Status.Formation == nil {
		return block(NoFounding(p.S.Cluster))
	}
	if len(p.S.View.ClusterIDs) > 1 {
		return block(&ops.Error{Kind: ops.NeedsHuman, Check: "split",
			Message: fmt.Sprintf("the members of %s belong to different database clusters (%v): this is a split, and going on could lose data", p.S.Cluster.Name, p.S.View.ClusterIDs),
			Hint:    "kubectl dbop status " + p.S.Cluster.Name + " -o wide shows which member belongs to which"})
	}
	if names := p.S.View.Rivals(); len(names) > 0 && p.S.Operation != nil {
		return p.rivals(names)
	}
	if want := p.S.Formation().ClusterID; want != "" {
		for _, id := range p.S.View.ClusterIDs {
			if id != want {
				return block(&ops.Error{Kind: ops.NeedsHuman, Check: "cluster-id",
					Message: fmt.Sprintf("the members of %s say cluster ID %s, but %s was recorded when it formed", p.S.Cluster.Name, id, want),
					Hint:    "find out who replaced the data before anything else is done"})
			}
		}
	}
	return nil
}

// rivals lets nothing happen while several members lead. It may be a moment
// between two answers; if it lasts, a person must look.
func (p Planner) rivals(names []string) *ops.Decision {
	why := strings.Join(names, " and ") + " both lead: a write to one of them may be lost"
	if p.fresh() && !p.writtenDown() {
		return block(&ops.Error{Kind: ops.NeedsHuman, Check: "two-leaders", Message: why,
			Hint: "kubectl dbop diagnose " + p.S.Cluster.Name + " shows what each of them says; stop the one that the others do not follow"})
	}
	return p.await("two-leaders", why)
}

// NoFounding is the refusal to act on a record that somebody damaged: without
// the token nobody knows which objects are the cluster's.
func NoFounding(c *v1alpha1.DatabaseCluster) *ops.Error {
	return &ops.Error{Kind: ops.NeedsHuman, Check: "record", Message: fmt.Sprintf("the record of %s in configmap %s does not say how it was founded", c.Name, v1alpha1.Record(c.Name)),
		Hint: "put the configmap back from a copy"}
}

// budget keeps the disruption budget at what the engine asks for, of the larger of now and
// soon: evictions by others must not undercut a size that is being reached.
// Without a member list that a majority stands behind it stays as it is.
func (p Planner) budget() *ops.Decision {
	if !p.S.View.Quorum {
		return nil
	}
	want := ops.BudgetOf(p.E, p.S)
	var have int32
	if p.S.Kube.Budget != nil {
		have = *p.S.Kube.Budget
	}
	if want == have {
		return nil
	}
	title := fmt.Sprintf("Create the PodDisruptionBudget (minimum %d)", want)
	if have > 0 {
		title = fmt.Sprintf("Update the PodDisruptionBudget (minimum %d)", want)
	}
	if want == 0 {
		title = "Delete the PodDisruptionBudget: one member can't have one"
	}
	return do(ops.Step{ID: "set-budget", Action: ops.ActionBudget, Title: title, Risk: ops.RiskNone, Budget: want,
		Touches: []string{"poddisruptionbudget/" + p.S.Cluster.Name}, Deadline: StepDeadline})
}

// healthy is the last word of every operation that touches members: not
// before all of them say so. One that is being stepped back must come to an
// end even if a member is lost for good, or it would bar the way to its
// replacement.
func (p Planner) healthy() *ops.Decision {
	switch p.S.Verb() {
	case v1alpha1.VerbBackup, v1alpha1.VerbSwitchover, v1alpha1.VerbCompact, v1alpha1.VerbClearAlarms:
		return nil
	}
	if p.S.Cancelling() {
		return nil
	}
	for _, r := range p.S.View.Joined() {
		if err := p.E.Health(p.S.View, r.Name); err != nil {
			d := p.await("healthy", err.Error(), r.Name)
			if m := p.S.Kube.Member(r.Name); !m.Volume.Exists && !m.Workload.Exists {
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
func (p Planner) noWayBack() bool {
	switch p.S.Verb() {
	case v1alpha1.VerbCreate, v1alpha1.VerbRestore, v1alpha1.VerbRemoveMember, v1alpha1.VerbReplaceMember, v1alpha1.VerbStart, v1alpha1.VerbRecover:
		return p.S.View.Quorum
	}
	return false
}

// lost reports whether a member's problem is one that a replacement mends.
func (p Planner) lost(member string) bool {
	m := p.S.Kube.Member(member)
	if !m.Volume.Exists {
		return true
	}
	return m.Pod.Problem != nil && (m.Pod.Problem.Kind == observe.ProblemCrashing || m.Pod.Problem.Kind == observe.ProblemNode)
}

// fresh reports whether the operation in flight has done nothing yet, so that
// an objection is a refusal rather than a pause.
func (p Planner) fresh() bool {
	return p.S.Operation != nil && len(p.S.Operation.Status.Journal) == 0
}

// writtenDown reports whether the operation in flight is a record already, and
// not only looked at.
func (p Planner) writtenDown() bool { return p.S.Operation.ResourceVersion != "" }

// leaves reports whether the member goes with this operation, whatever its problem.
func (p Planner) leaves(name string) bool {
	verb := p.S.Verb()
	if verb != v1alpha1.VerbRemoveMember && verb != v1alpha1.VerbReplaceMember || p.S.Operation.Spec.Member != name {
		return false
	}
	entry, registered := p.S.View.Registered(name)
	if !registered {
		return !p.S.View.Quorum
	}
	return verb == v1alpha1.VerbRemoveMember || entry.ID == p.S.Operation.Spec.MemberID
}

func block(e *ops.Error) *ops.Decision { return &ops.Decision{Blocked: e} }

func do(s ops.Step) *ops.Decision { return &ops.Decision{Step: &s} }
