package ops

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
	// Promises says, of a cluster that is made or gets other settings, what it may lose, and what stops it.
	Promises []string `json:"promises,omitempty"`
	// Blocked says why the plan can't go on after its last step.
	Blocked *Error `json:"blocked,omitempty"`
}

// Unchanged reports whether there is nothing to do.
func (p Plan) Unchanged() bool { return len(p.Steps) == 0 && p.Blocked == nil }
