package engine

import "context"

// Candidate is a member that can be made the leader although the members do not choose one by themselves, because
// writes that were acknowledged may be lost with it.
type Candidate struct {
	Member string `json:"member"`
	// Loss says what that would give up, in one sentence without a full stop.
	Loss string `json:"loss"`
}

// Failoverer is what a Session also is if its engine has Capabilities.Failover.
type Failoverer interface {
	// Failover makes one of View.Candidates the leader, and gives up what it lacks. A repeat after success is success;
	// ErrNotReady, wrapped, if the member is no candidate any more.
	Failover(ctx context.Context, member string) error
}

// Candidate returns the candidate of that name.
func (v View) Candidate(member string) (Candidate, bool) {
	for _, c := range v.Candidates {
		if c.Member == member {
			return c, true
		}
	}
	return Candidate{}, false
}
