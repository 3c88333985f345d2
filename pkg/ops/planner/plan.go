package planner

import (
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// maxSteps bounds a plan; a planner that needs more is going in circles.
const maxSteps = 500

// MakePlan carries Decide forward over predicted states. It is pure: the same
// state gives the same plan, and performing it step by step gives the same
// steps, unless the world changes in between.
func MakePlan(e engine.Engine, s ops.State) ops.Plan { return PlanWith(Decide, e, s) }

// PlanWith is MakePlan with other decisions, for tests and for a request that is only shown.
func PlanWith(decide func(engine.Engine, ops.State) ops.Decision, e engine.Engine, s ops.State) ops.Plan {
	p := ops.Plan{Verb: string(s.Verb()), Steps: []ops.Step{}}
	if s.Cluster != nil {
		p.Cluster = s.Cluster.Name
	}
	switch s.Verb() {
	case v1alpha1.VerbCreate, v1alpha1.VerbRestore, v1alpha1.VerbConfigure:
		if says, ok := e.(engine.Promiser); ok && s.Cluster != nil {
			p.Promises = says.Promises(s.Cluster.Spec)
		}
	}
	for len(p.Steps) < maxSteps {
		d := decide(e, s)
		if d.Blocked != nil {
			p.Blocked = d.Blocked
			return p
		}
		if d.Step == nil {
			return p
		}
		step := *d.Step
		if n := len(p.Steps); n > 0 && step.Action == ops.ActionWait && p.Steps[n-1].ID == step.ID {
			p.Steps, p.Blocked = p.Steps[:n-1], endless(step)
			return p
		}
		after := Predict(e, s, step)
		step.During = leastMargin(e, s, after, step)
		s = after
		note(&p, e, s, &step)
		p.Steps = append(p.Steps, step)
	}
	p.Blocked = &ops.Error{Kind: ops.NeedsHuman, Check: "plan-length", Message: "the plan does not come to an end",
		Hint: "please report this plan as a bug"}
	return p
}

// endless is the block that a wait amounts to if it goes on although
// everything has come to rest.
func endless(wait ops.Step) *ops.Error {
	return &ops.Error{Kind: ops.Refused, Check: strings.TrimPrefix(wait.ID, "wait/"), Message: wait.Reason,
		Hint: "waiting does not mend this; the status of each member shows more"}
}

// margin is how many more voters may fail; nil where that has no meaning yet.
func margin(e engine.Engine, s ops.State) *int {
	if !s.Formed() || !e.Capabilities().Quorum || len(s.View.Joined()) == 0 {
		return nil
	}
	t := e.Tolerates(s.View)
	return &t
}

// leastMargin is the margin while the step runs: the least of those before it,
// after it, and meanwhile, when the members that it stops are away.
func leastMargin(e engine.Engine, before, after ops.State, step ops.Step) *int {
	meanwhile := before
	if step.Risk == ops.RiskRestart || step.Risk == ops.RiskDowntime || step.Action == ops.ActionDefragment {
		meanwhile.View.Members = slices.Clone(before.View.Members)
		for i := range meanwhile.View.Members {
			m := &meanwhile.View.Members[i]
			m.Reachable = m.Reachable && !slices.Contains(step.Members, m.Name)
		}
	}
	least := margin(e, meanwhile)
	if then := margin(e, after); least == nil || then != nil && *then < *least {
		return then
	}
	return least
}

// note adds what a person wants to know of the step, given the state after it.
func note(p *ops.Plan, e engine.Engine, after ops.State, step *ops.Step) {
	step.Tolerates = margin(e, after)
	if l, ok := after.View.Leader(); ok {
		step.Leader = l.Name
	}
	switch step.Risk {
	case ops.RiskRestart, ops.RiskDowntime:
		p.Restarts = append(p.Restarts, step.Members...)
	case ops.RiskLeaderMove:
		p.LeaderMoves = append(p.LeaderMoves, step.To)
	case ops.RiskIrreversible:
		p.Irreversible = append(p.Irreversible, step.Title)
	}
	if step.Action != ops.ActionDeleteAll {
		return
	}
	for _, m := range after.Kube.Members {
		if m.Volume.Exists && after.Ours(m) {
			p.Kept = append(p.Kept, v1alpha1.VolumeName(m.Name))
		}
	}
}
