// Package agreed holds the rules of engines that bring replication and no quorum. In the pod of each member runs an
// agent, and the agents agree on who is a member, who votes and who is the primary; docs/agreement.md says how. What
// differs from engine to engine is a field of Rules.
package agreed

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// Rules implements engine.Rules but for what an engine knows of its own settings. It holds no state.
type Rules struct {
	engine.Versions
	// NearEnough is how many bytes a member may be behind to take over at once, MostLag to be healthy.
	NearEnough, MostLag int64
	// MaxMembers is the most members that make sense.
	MaxMembers int
	// ReadsOlder says that a release reads the data of older series. Then an upgrade to another series is a roll, and the
	// way back is closed once a member runs it.
	ReadsOlder bool
}

// mostVoters is the highest number of members that vote; the others are spare.
const mostVoters = 5

// Witnesses implements engine.Rules: a pair has one, or the loss of either would stop it.
func (Rules) Witnesses(spec v1alpha1.DatabaseClusterSpec) int {
	if spec.Members == 2 {
		return 1
	}
	return 0
}

// Votes is how many of the whole members vote: the largest odd number that they
// allow, a witness only where the others are an even number.
func Votes(data, witnesses int) int {
	n := data
	if data > 1 && data%2 == 0 && witnesses > 0 {
		n++
	}
	return min(n-(n+1)%2, mostVoters)
}
