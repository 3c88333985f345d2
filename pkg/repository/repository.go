// Package repository keeps backups: immutable objects, each with a manifest
// beside it that explains it to any machine. There is no index; a listing
// reads the manifests. Repositories in object stores are in package bucket.
package repository

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// Errors that callers compare with errors.Is.
var (
	// ErrNotFound: no backup of that identifier.
	ErrNotFound = errors.New("no such backup")
	// ErrExists: a backup of that identifier is there already and is not ours to overwrite.
	ErrExists = errors.New("backup exists already")
	// ErrDamaged: what is stored is not what the manifest says.
	ErrDamaged = errors.New("backup is damaged")
	// ErrNoSpace: the target is full.
	ErrNoSpace = errors.New("no space left in the repository")
)

// Manifest explains one backup. It is written last: a backup without one does
// not exist. Unknown fields of newer tools survive being read.
type Manifest struct {
	// Format is 1, or 2 in an object store.
	Format int `json:"format"`
	// ID is unique in its repository and sorts by time: "<cluster>-20261121T101500Z-<4 hex>".
	ID     string `json:"id"`
	Engine string `json:"engine"`
	// Cluster and Namespace that it was taken from.
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	// Version of the server, full.
	Version   string `json:"version"`
	ClusterID string `json:"clusterID"`
	// Incarnation is the token of the history that the data belongs to: a restore in place begins another one.
	Incarnation string `json:"incarnation,omitempty"`
	// Member that streamed it.
	Member string `json:"member"`
	// Origin says where it comes from, if not from a member that ran.
	Origin string `json:"origin,omitempty"`
	// Parent is the identifier of the full backup that this one adds to; "" for a full one.
	Parent string `json:"parent,omitempty"`
	// Facts read from the finished file.
	Facts engine.SnapshotFacts `json:"facts"`
	// File is the data's name beside the manifest; Bytes and SHA256 are of the whole file.
	File   string `json:"file"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	// Operation is the UID-like identifier of the operation that wrote it; a
	// repeat of the same operation may overwrite, nobody else.
	Operation string `json:"operation"`
	Tool      string `json:"tool"`
	// Scheduled: the retention of a schedule may delete it.
	Scheduled bool `json:"scheduled,omitempty"`
	// RetainUntil is how long the store that it was written to was asked to keep it.
	RetainUntil *time.Time `json:"retainUntil,omitempty"`
	// StartedAt and FinishedAt of the stream.
	StartedAt  time.Time `json:"startedAt"`
	FinishedAt time.Time `json:"finishedAt"`
	// Verified holds the newest successful verification.
	Verified *Verification `json:"verified,omitempty"`
	// Stored is how many bytes it takes in a store that compresses, and Encrypted
	// that it is encrypted there. Both are of format 2 alone.
	Stored    int64 `json:"stored,omitempty"`
	Encrypted bool  `json:"encrypted,omitempty"`
	// Proof is the level of the best proof that succeeded: "present", "intact" or "restorable". ProvenAt is when that was
	// found out.
	Proof    string    `json:"proof,omitempty"`
	ProvenAt time.Time `json:"provenAt,omitzero"`
	// FailedProof is the newest proof that failed, unless a later one of its level or a higher one succeeded. A listing of
	// an object store leaves out why.
	FailedProof *Proof `json:"failedProof,omitempty"`
}

// ProvenWithin reports whether each byte was found to be right no longer ago than that.
func (m Manifest) ProvenWithin(d time.Duration, now time.Time) bool {
	age := now.Sub(m.ProvenAt)
	return (m.Proof == string(LevelIntact) || m.Proof == string(LevelRestorable)) && age >= 0 && age < d &&
		m.FailedProof == nil
}

// Verification is the proof that a backup was restored and compared.
type Verification struct {
	Time time.Time `json:"time"`
	// Version of the server that served the restored data.
	Version string `json:"version"`
	Tool    string `json:"tool"`
	// Checked says what a program of the database compared, and found whole; "" for nothing.
	Checked string `json:"checked,omitempty"`
}

// Repository is one place where backups live. Safe for concurrent use.
type Repository interface {
	// URL is the canonical form that Open accepts again.
	URL() string
	// Probe proves that a backup could be written: it makes and removes an empty
	// file. free is how many bytes are left, -1 where that is unknown.
	Probe(ctx context.Context) (free int64, err error)
	// Writer begins a backup. Nothing of it is visible until Commit.
	Writer(ctx context.Context, id, operation string) (Writer, error)
	// Reader streams a backup's own data and fails with ErrDamaged at its end if
	// size or SHA-256 differ from the manifest's. What a restore takes is Whole.
	Reader(ctx context.Context, id string) (io.ReadCloser, Manifest, error)
	// Get returns one manifest; List all of a cluster, or of all clusters for "",
	// newest first. See SplitDamaged for those that List can't read.
	Get(ctx context.Context, id string) (Manifest, error)
	List(ctx context.Context, cluster string) ([]Manifest, error)
	// AddProof records what a verification found, atomically. One that failed is never a reason to delete anything.
	AddProof(ctx context.Context, id string, p Proof) error
	// Delete removes manifest, then data. A repeat returns ErrNotFound; ErrNeeded while another backup adds to it.
	Delete(ctx context.Context, id string) error
	Close() error
}

// Presence is a Repository that says whether all of a backup is there, without
// reading it.
type Presence interface {
	// Present compares what is stored with a manifest, which is signed in an object store: ErrDamaged if anything is
	// missing or of another size, also of the backup that it adds to.
	Present(ctx context.Context, id string) error
}

// Writer takes one backup's bytes. A crash before Commit leaves a file ending
// in .part, which the next Writer of the same identifier replaces.
type Writer interface {
	io.Writer
	// Commit makes data durable, opens it with facts (the engine reads the
	// finished file), completes Bytes, SHA256, File and Facts of the manifest
	// and writes it last. It returns the stored manifest.
	Commit(ctx context.Context, m Manifest, open func(path string) (engine.SnapshotFacts, error)) (Manifest, error)
	// Abort drops everything; after Commit it does nothing.
	Abort() error
}
