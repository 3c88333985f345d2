package engine

import "github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"

// Adviser is what an Engine also is if its members raise alarms.
type Adviser interface {
	// Advise explains an alarm of one member, as Member.Alarms names it; false
	// for one that the engine does not know. It is pure.
	Advise(c *v1alpha1.DatabaseCluster, member, alarm string) (Advice, bool)
	// SpaceOption is the option, in bytes, that says how much data a member may
	// have; "" if there is none.
	SpaceOption() string
}

// Explainer is what an Engine also is if it can make sense of what its
// members say when they crash.
type Explainer interface {
	// Explain says what the last words of a member that crashes mean; false for
	// words that the engine does not know. It is pure.
	Explain(c *v1alpha1.DatabaseCluster, member, words string) (Advice, bool)
}

// Advice is the engine's word on an alarm or a crash.
type Advice struct {
	// Meaning is one sentence without a full stop.
	Meaning string
	// Remedy is what to do, in this order.
	Remedy []string
}
