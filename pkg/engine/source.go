package engine

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// Source is a server outside of the cluster that its data comes from, as the member says that copies or follows it.
type Source struct {
	Address string `json:"address"`
	// Following: all data was copied, and what is written there comes after it. Linked: it does now.
	Following bool `json:"following"`
	Linked    bool `json:"linked"`
	// Lag is how much of its history is not here yet, Silent for how long nothing came.
	Lag    Distance      `json:"lag"`
	Silent time.Duration `json:"silent"`
	// Received is how many bytes came of the copy that is under way.
	Received int64 `json:"received,omitempty"`
	// Problem says what keeps the data from coming; with Refused the server was checked and can't be followed as it is.
	Problem string `json:"problem,omitempty"`
	Refused bool   `json:"refused,omitempty"`
	// Users are those of the source that don't come along, Left is what else does not.
	Users []string `json:"users,omitempty"`
	Left  []string `json:"left,omitempty"`
}

// UntilOpened is for how long a source refuses writes that a person has to open again.
const UntilOpened time.Duration = math.MaxInt64

// Text says in one sentence without a full stop how far the source is followed.
func (s Source) Text() string {
	switch {
	case s.Problem != "":
		return s.Problem
	case !s.Following:
		return fmt.Sprintf("copies the data of %s: %d bytes came so far", s.Address, s.Received)
	case !s.Linked:
		return fmt.Sprintf("follows %s, and its connection is broken for %s", s.Address, s.Silent)
	}
	return fmt.Sprintf("follows %s, %s behind, heard of it %s ago", s.Address, s.Lag, s.Silent)
}

// CutOver is what a cut over came to.
type CutOver struct {
	// Gap is how long nobody could write; 0 if it was done before.
	Gap time.Duration
	// Paused is for how long the source still refuses writes; 0 if it does not. It may be UntilOpened.
	Paused time.Duration
	// Compared says what of the data was compared with the source meanwhile, and agrees; "" for nothing.
	Compared string
}

// CutOverRequest says how a cut over is done.
type CutOverRequest struct {
	// Stopped says that a person stopped all writers: the source is not asked to pause them.
	Stopped bool
	// Back prepares, while nobody can write, that the source follows this cluster from there on: see Follower.Follow. A
	// Refusal for CheckBack says why that is not possible; then nothing was done.
	Back bool
}

// FollowRequest names the cluster that the data came from, or goes to, by the address of its clients.
type FollowRequest struct {
	// Address is a host and a port that lead to the primary of the other cluster, also after a failover there.
	Address string
	// TLS encrypts the connection: the other cluster has the same authority as this one.
	TLS bool
}

// CheckBack is the check that there is a way back after a cut over.
const CheckBack = "way-back"

// CheckWriters is the check that a cut over gives up where a person stopped all writers: that the source pauses writes.
const CheckWriters = "writers"

// Follower is what a Session also is if its engine has Capabilities.Source.
type Follower interface {
	// CutOver has the source take no more writes, waits until it proves that the cluster has all of them, ends that it is
	// followed, and returns once the cluster takes writes. After an error the source takes writes as before, unless the
	// outcome is not known; a repeat after success is success. ErrNotReady, wrapped, for what may pass.
	CutOver(ctx context.Context, how CutOverRequest) (CutOver, error)
	// Follow has this cluster, which a cut over with Back closed, follow the one that cut over, without a copy. No client
	// is let in until CutOver of this one. It returns once that is agreed and a primary serves that follows, or will; its
	// Source says how far it is. A Refusal for CheckBack says why there is no way back; a repeat after success is success.
	// ErrNotReady, wrapped, for what may pass.
	Follow(ctx context.Context, from FollowRequest) error
	// EndBack has this cluster, which took over with Back, forget the way back: what it keeps for the other one goes. It
	// succeeds where there is none.
	EndBack(ctx context.Context) error
}

// Followed is what an Engine also is of which a cluster can take the place of another one that this tool made: it
// begins as a copy, follows, and takes over; and the other one can follow it to go back.
type Followed interface {
	// FollowedSettings are the options, with their values, that a cluster lacks so that another one can follow it; none if
	// it lacks none. It is pure.
	FollowedSettings(v1alpha1.DatabaseClusterSpec) map[string]string
}
