package ops

import (
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// Decision is what Decide says of a state: exactly one of Step, Blocked and
// Done is set.
type Decision struct {
	Step    *Step
	Blocked *Error
	Done    bool
	// Why explains a Step that waits.
	Why string
}

// Plan is the road from a state to its end, or to what blocks it.
type Plan struct {
	// Verb and Cluster that the plan is for.
	Verb    string `json:"verb,omitempty"`
	Cluster string `json:"cluster"`
	Steps   []Step `json:"steps"`
	// Restarts lists pods that restart, LeaderMoves who leads, in order.
	Restarts    []string `json:"restarts,omitempty"`
	LeaderMoves []string `json:"leaderMoves,omitempty"`
	// Irreversible lists the titles of the steps that can't be undone.
	Irreversible []string `json:"irreversible,omitempty"`
	// Kept are the volumes that a deletion leaves.
	Kept []string `json:"kept,omitempty"`
	// Blocked says why the plan can't go on after its last step.
	Blocked *Block `json:"blocked,omitempty"`
}

// Block is the serialisable form of a blocking Error.
type Block struct {
	Kind    Kind   `json:"kind"`
	Check   string `json:"check,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// Unknown: what the request names does not exist.
	Unknown bool `json:"unknown,omitempty"`
}

// Error is the error that the block stands for.
func (b Block) Error() *Error {
	return &Error{Kind: b.Kind, Check: b.Check, Message: b.Message, Hint: b.Hint, Unknown: b.Unknown}
}

// Unchanged reports whether there is nothing to do.
func (p Plan) Unchanged() bool { return len(p.Steps) == 0 && p.Blocked == nil }

// maxSteps bounds a plan; a planner that needs more is going in circles.
const maxSteps = 500

// MakePlan carries Decide forward over predicted states. It is pure: the same
// state gives the same plan, and performing it step by step gives the same
// steps, unless the world changes in between.
func MakePlan(e engine.Engine, s State) Plan { return makePlan(Decide, e, s) }

func makePlan(decide func(engine.Engine, State) Decision, e engine.Engine, s State) Plan {
	p := Plan{Verb: string(s.verb()), Steps: []Step{}}
	if s.Cluster != nil {
		p.Cluster = s.Cluster.Name
	}
	for len(p.Steps) < maxSteps {
		d := decide(e, s)
		if d.Blocked != nil {
			p.Blocked = &Block{Kind: d.Blocked.Kind, Check: d.Blocked.Check, Message: d.Blocked.Message, Hint: d.Blocked.Hint, Unknown: d.Blocked.Unknown}
			return p
		}
		if d.Step == nil {
			return p
		}
		step := *d.Step
		if n := len(p.Steps); n > 0 && step.Action == ActionWait && p.Steps[n-1].ID == step.ID {
			p.Steps, p.Blocked = p.Steps[:n-1], endless(step)
			return p
		}
		s = Predict(e, s, step)
		p.note(e, s, &step)
		p.Steps = append(p.Steps, step)
	}
	p.Blocked = &Block{Kind: NeedsHuman, Check: "plan-length", Message: "the plan does not come to an end", Hint: "please report this plan as a bug"}
	return p
}

// endless is the block that a wait amounts to if it goes on although
// everything has come to rest.
func endless(wait Step) *Block {
	return &Block{Kind: Refused, Check: strings.TrimPrefix(wait.ID, "wait/"), Message: wait.Reason, Hint: "waiting does not mend this; the status of each member shows more"}
}

// note adds what a person wants to know of the step, given the state after it.
func (p *Plan) note(e engine.Engine, after State, step *Step) {
	if after.formed() && e.Capabilities().Quorum && len(after.View.Voters()) > 0 {
		t := e.Tolerates(after.View)
		step.Tolerates = &t
	}
	if l, ok := after.View.Leader(); ok {
		step.Leader = l.Name
	}
	switch step.Risk {
	case RiskRestart, RiskDowntime:
		p.Restarts = append(p.Restarts, step.Members...)
	case RiskLeaderMove:
		p.LeaderMoves = append(p.LeaderMoves, step.To)
	case RiskIrreversible:
		p.Irreversible = append(p.Irreversible, step.Title)
	}
	if step.Action != ActionDeleteAll {
		return
	}
	for _, m := range after.Kube.Members {
		if m.Volume.Exists && after.ours(m) {
			p.Kept = append(p.Kept, v1alpha1.VolumeName(m.Name))
		}
	}
}
