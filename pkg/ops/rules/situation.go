package rules

import (
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// Situation is a state as the rules judge it: with the engine whose rules hold, what the operation in flight says
// of itself, and how it meets others.
type Situation struct {
	E       engine.Engine
	S       ops.State
	Traits  Traits
	Manners ops.Manners
	Verbs   ops.Verbs
}

// Identity stops everything where it is unclear whose data this is.
func (p Situation) Identity() *ops.Decision {
	if len(p.S.Kube.Foreign) > 0 {
		return Block(&ops.Error{Kind: ops.Refused, Check: "foreign-objects",
			Message: fmt.Sprintf("%v bear names of cluster %s but do not belong to it", p.S.Kube.Foreign, p.S.Cluster.Name),
			Hint:    "choose another name, or remove these objects if nobody needs them"})
	}
	if p.Manners.Ends {
		return nil
	}
	if p.S.Cluster.Status.Bootstrap == nil {
		return Block(NoFounding(p.S.Cluster))
	}
	if len(p.S.View.ClusterIDs) > 1 {
		return Block(&ops.Error{Kind: ops.NeedsHuman, Check: "split",
			Message: fmt.Sprintf(
				"the members of %s belong to different database clusters (%v): this is a split, and going on could lose data",
				p.S.Cluster.Name, p.S.View.ClusterIDs),
			Hint: "kubectl dbop status " + p.S.Cluster.Name + " -o wide shows which member belongs to which"})
	}
	if names := p.S.View.Rivals(); len(names) > 0 && p.S.Operation != nil {
		return p.rivals(names)
	}
	if want := p.S.Bootstrap().ClusterID; want != "" {
		for _, id := range p.S.View.ClusterIDs {
			if id != want {
				return Block(&ops.Error{Kind: ops.NeedsHuman, Check: "cluster-id",
					Message: fmt.Sprintf("the members of %s say cluster ID %s, but %s was recorded when it formed",
						p.S.Cluster.Name,
						id, want),
					Hint: "find out who replaced the data before anything else is done"})
			}
		}
	}
	return nil
}

// rivals lets nothing happen while several members lead. It may be a moment
// between two answers; if it lasts, a person must decide.
func (p Situation) rivals(names []string) *ops.Decision {
	why := strings.Join(names, " and ") + " both lead: a write to one of them may be lost"
	if p.Fresh() && !p.writtenDown() {
		return Block(&ops.Error{Kind: ops.NeedsHuman, Check: "two-leaders", Message: why,
			Hint: "kubectl dbop diagnose " + p.S.Cluster.Name +
				" shows what each of them says; stop the one that the others do not follow"})
	}
	return p.Await("two-leaders", why)
}

// NoFounding is the refusal to act on a record that somebody damaged: without
// the token nobody knows which objects are the cluster's.
func NoFounding(c *v1alpha1.DatabaseCluster) *ops.Error {
	return &ops.Error{Kind: ops.NeedsHuman, Check: "record",
		Message: fmt.Sprintf("the record of %s in configmap %s does not say how it was founded", c.Name,
			v1alpha1.Record(c.Name)),
		Hint: "put the configmap back from a copy"}
}

// Budget keeps the disruption budget at what the engine asks for, of the larger of now and
// soon: evictions by others must not undercut a size that is being reached.
// Without a member list that a majority is behind it stays as it is.
func (p Situation) Budget() *ops.Decision {
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
	return Do(ops.Step{ID: "set-budget", Action: ops.ActionBudget, Title: title, Risk: ops.RiskNone, Budget: want,
		Touches: []string{"poddisruptionbudget/" + p.S.Cluster.Name}, Deadline: StepDeadline})
}

// Healthy is the last word of every operation that touches members: not
// before all of them say so. One that is being stepped back must come to an
// end even if a member is lost for good, or it would bar the way to its
// replacement.
func (p Situation) Healthy() *ops.Decision {
	if p.Traits.SparesMembers || p.S.Cancelling() {
		return nil
	}
	for _, r := range p.S.View.Joined() {
		if err := p.E.Health(p.S.View, r.Name); err != nil {
			d := p.Await("healthy", err.Error(), r.Name)
			if m := p.S.Kube.Member(r.Name); !m.Volume.Exists && !m.Workload.Exists {
				d = Block(p.replaceFirst(r.Name))
			}
			if d.Blocked != nil && p.Traits.NoWayBack && p.S.View.Quorum && p.Lost(r.Name) {
				continue
			}
			return d
		}
	}
	return nil
}

// Lost reports whether a member's problem is one that a replacement mends.
func (p Situation) Lost(member string) bool {
	m := p.S.Kube.Member(member)
	if !m.Volume.Exists {
		return true
	}
	return m.Pod.Problem != nil && (m.Pod.Problem.Kind == observe.ProblemCrashing ||
		m.Pod.Problem.Kind == observe.ProblemNode)
}

// Fresh reports whether the operation in flight has done nothing yet, so that
// an objection is a refusal rather than a pause.
func (p Situation) Fresh() bool {
	return p.S.Operation != nil && len(p.S.Operation.Status.Journal) == 0
}

// writtenDown reports whether the operation in flight is a record already, and
// not only observed.
func (p Situation) writtenDown() bool { return p.S.Operation.ResourceVersion != "" }

// leaves reports whether the member goes with this operation, whatever its problem.
func (p Situation) leaves(name string) bool {
	if !p.Manners.Removes && !p.Manners.Replaces || p.S.Operation.Spec.Member != name {
		return false
	}
	entry, registered := p.S.View.Registered(name)
	if !registered {
		return !p.S.View.Quorum
	}
	return p.Manners.Removes || entry.ID == p.S.Operation.Spec.MemberID
}

// Block ends the plan with an error.
func Block(e *ops.Error) *ops.Decision { return &ops.Decision{Blocked: e} }

// Do goes on with a step.
func Do(s ops.Step) *ops.Decision { return &ops.Decision{Step: &s} }
