// Package archive keeps backups of any engine in a store, in format 2: docs/repository-format.md describes it.
// The store is the catalogue; there is no index besides. Objects are immutable.
package archive

import (
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/volume"
)

// Errors that callers compare with errors.Is. Those of package store come through as they are.
var (
	// ErrNotFound: no backup of that identifier.
	ErrNotFound = errors.New("no such backup")
	// ErrExists: a backup of that identifier is there and belongs to another operation.
	ErrExists = errors.New("backup exists already")
	// ErrDamaged: what is stored is not what was written.
	ErrDamaged = volume.ErrDamaged
	// ErrKey: none of the secret keys here opens it.
	ErrKey = volume.ErrKey
	// ErrSignature: no trusted key signed an object.
	ErrSignature = errors.New("not signed by a trusted key")
	// ErrFormat: a newer version of the tool wrote it.
	ErrFormat = errors.New("written by a newer version of the tool")
	// ErrSource: the source of an attempt that was to be continued reads differently now.
	ErrSource = errors.New("the source has changed since the attempt began")
	// ErrClock: the clocks of this machine and of the store differ by too much to delete anything by age.
	ErrClock = errors.New("the clocks differ")
	// ErrNeeded: another backup holds only what changed since this one.
	ErrNeeded = errors.New("another backup adds to it")
	// ErrConflict: the log has a segment of the same name with other bytes.
	ErrConflict = errors.New("log segment exists with other bytes")
	// ErrOwner: what would be archived is that of a copy.
	ErrOwner = errors.New("the log belongs to another Kubernetes cluster")
)

// Archive is the backups of one store. It is safe for concurrent use.
type Archive struct {
	store store.Store
	keys  Keys
	now   func() time.Time

	retain time.Duration
	// mostOutage is how long what takes long waits for a store that does not answer.
	mostOutage time.Duration
	clock      storeClock
}

// Open reads backups from a store and writes them there. Nothing is dialled before the first call.
func Open(s store.Store, k Keys) *Archive {
	return &Archive{store: s, keys: k, now: time.Now, mostOutage: store.MostOutage}
}

// Scope is one database cluster of a repository.
type Scope struct {
	Namespace string `json:"namespace"`
	Cluster   string `json:"cluster"`
}

// Kinds of objects: the first part of every key.
const (
	kindManifest = "manifests"
	kindData     = "data"
	kindAttempt  = "attempts"
	kindProof    = "proofs"
	kindHold     = "holds"
	kindLog      = "log"
	kindOwner    = "owners"
)

// prefix is what all objects of a kind and a scope begin with. An empty scope means all.
func (s Scope) prefix(kind string) string {
	if s == (Scope{}) {
		return kind + "/"
	}
	return kind + "/" + segment(s.Namespace) + "/" + segment(s.Cluster) + "/"
}

// segment is a text as a part of a key.
func segment(text string) string {
	if text == "" {
		return "!"
	}
	return escape(text)
}

// newULID is unique and sorts by the time of this machine's clock.
func (a *Archive) newULID() (string, error) {
	id, err := ulid.New(ulid.Timestamp(a.now()), rand.Reader)
	if err != nil {
		return "", fmt.Errorf("make an identifier: %w", err)
	}
	return id.String(), nil
}

// patient is the archive for what takes long: it waits for a store that does not answer for a while.
func (a *Archive) patient() *Archive { return a.In(store.Patient(a.store, a.mostOutage)) }

// In is an archive in another store, with the same keys.
func (a *Archive) In(s store.Store) *Archive {
	return &Archive{store: s, keys: a.keys, now: a.now, mostOutage: a.mostOutage}
}
