package ops

import (
	"context"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// Cluster is what a loop observes and acts upon: a live cluster, or a simulated one.
type Cluster interface {
	// Observe reads everything; it writes nothing.
	Observe(ctx context.Context) (State, error)
	// Perform does one step that is no wait. It is idempotent, and may be cut
	// off at any line by a crash. engine.ErrNotReady asks for another try.
	Perform(ctx context.Context, s State, step Step, report func(bytes, total int64)) (Result, error)
	// Save persists the operation's status.
	Save(ctx context.Context, op *v1alpha1.Operation) error
	// Changed receives when something may have changed; it may never do so.
	Changed() <-chan struct{}
}

// Result is what a step leaves that can't be observed.
type Result struct {
	Facts map[string]string
}

// JobState is what is known of the Job that takes a backup.
type JobState struct {
	// Runs: it takes the backup. Done: the backup is taken, and nobody has written that down yet.
	Runs, Done bool
	// Source is the member that it asks; "" where that is not known.
	Source string
}

// JobReader is what a World also is if Jobs take its backups.
type JobReader interface {
	// ReadJob reads the Job that takes the backup of an operation; the zero value where there is none.
	ReadJob(ctx context.Context, op *v1alpha1.Operation) (JobState, error)
}

// Rehearser is what a World also is if it can have a step judged before the
// first one is taken.
type Rehearser interface {
	Rehearse(ctx context.Context, s State, step Step) error
}

// UserJudge is what a World also is if it can tell whether a user that is to be made is there already.
type UserJudge interface {
	// HasUser says of the user of the operation in a state that it is there as it is asked for, with a password that its
	// secret holds. False where that is not known. It asks nothing where no user is made that the cluster has.
	HasUser(ctx context.Context, s State) bool
}

// Renderer is what a World also is if it can tell what pods a cluster would have.
type Renderer interface {
	// Rendering is the digest of what this program would render of a cluster now, as State.Rendering; "" where that
	// is nothing.
	Rendering(c *v1alpha1.DatabaseCluster) string
}

// OptionReader is what a World also is if it can ask the database which options it has.
type OptionReader interface {
	// ReadOptions asks the leader, or another member that answers. nil where the engine itself lists them.
	ReadOptions(ctx context.Context) ([]engine.LiveOption, error)
}

// ClosableCluster is a World that holds connections.
type ClosableCluster interface {
	Cluster
	Close() error
}
