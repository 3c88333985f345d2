package engine

import (
	"context"
	"io"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// Incremental is what an Engine also is if its members can stream only what changed since a full backup. Each of its
// sessions is an Incrementer. Of a backup that holds changes all methods of Snapshotter take the bytes followed by
// those of the full one.
type Incremental interface {
	// CheckIncremental refuses a cluster whose version or settings allow none. A Refusal says why, and what to type; the
	// full backup that it speaks of would go to the repository. It is pure.
	CheckIncremental(c *v1alpha1.DatabaseCluster, repository string) error
	// IncrementalSource names the member to stream from, and the newest full backup in a repository since which it can
	// stream the changes. A Refusal says why there is none, and what to type, as CheckIncremental does. It is pure.
	IncrementalSource(v View, c *v1alpha1.DatabaseCluster, repository string) (BaseOf, error)
	// NewBase returns a writer that sees all bytes of a full snapshot.
	NewBase() Base
}

// BaseOf is a full backup that a member keeps what streaming the changes since it takes.
type BaseOf struct {
	Member string `json:"member,omitempty"`
	// Backup is its identifier in Repository.
	Backup     string `json:"backup"`
	Repository string `json:"repository"`
}

// Base sees a full snapshot, and takes out of it what streaming the changes since it takes.
type Base interface {
	// Write never fails.
	io.Writer
	// Content is what members are to keep; nil if that is too much, or was not there.
	Content() []byte
}

// Incrementer is what a Session also is if its engine is Incremental.
type Incrementer interface {
	// Increment streams what changed on a member since a backup, checked on the fly, as Snapshot streams all.
	Increment(ctx context.Context, from, since string, w io.Writer, report func(bytes int64)) error
	// KeepBase has members keep what a full backup left, in place of that of its predecessor in the repository. Those
	// that can't are left out, and the error tells of them; the others are returned.
	KeepBase(ctx context.Context, members []string, of BaseOf, content []byte) (kept []string, err error)
}
