package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"golang.org/x/sync/errgroup"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// Entry is one backup as the names of objects tell it, without reading any. Nobody vouches for names: who may
// write to the store can make them. What is restored, or counts as a reason to delete another, is read first.
type Entry struct {
	Scope
	ID          string `json:"id"`
	Attempt     string `json:"attempt"`
	Engine      string `json:"engine"`
	Version     string `json:"version,omitempty"`
	Incarnation string `json:"incarnation,omitempty"`
	Parent      string `json:"parent,omitempty"`
	Position    string `json:"position,omitempty"`
	// Bytes is how much it takes in the store.
	Bytes      int64     `json:"bytes"`
	StartedAt  time.Time `json:"startedAt"`
	FinishedAt time.Time `json:"finishedAt"`
	Scheduled  bool      `json:"scheduled,omitempty"`
	Encrypted  bool      `json:"encrypted"`
	Log        *LogStart `json:"log,omitempty"`
	// Proof is the highest and newest one, HeldUntil the end of the last hold. Failed is the newest proof that failed,
	// unless a later one of its level or a higher one succeeded.
	Proof     *Proof    `json:"proof,omitempty"`
	Failed    *Proof    `json:"failed,omitempty"`
	HeldUntil time.Time `json:"heldUntil,omitzero"`

	// Key is that of the manifest, Stored the time of the store's clock at which it appeared.
	Key    string    `json:"key"`
	Stored time.Time `json:"stored"`
}

// Catalogue is a listing.
type Catalogue struct {
	// Entries are the backups, newest first.
	Entries []Entry
	// Foreign counts objects among the manifests whose names this tool did not make.
	Foreign int
}

// List returns the backups of a cluster, or of all for an empty scope. It takes one request for every thousand
// backups, and the same for proofs and for holds, whose names are listed meanwhile.
func (a *Archive) List(ctx context.Context, s Scope) (*Catalogue, error) {
	c, _, err := a.list(ctx, s)
	return c, err
}

// list is List, with all proofs that names claim, by attempt.
func (a *Archive) list(ctx context.Context, s Scope) (c *Catalogue, proofs map[string][]Proof, err error) {
	var holds map[string][]Hold
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		c, err = a.manifests(ctx, s)
		return err
	})
	g.Go(func() (err error) {
		proofs, err = a.proofs(ctx, s)
		return err
	})
	g.Go(func() (err error) {
		holds, err = a.holds(ctx, s)
		return err
	})
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	for i := range c.Entries {
		e := &c.Entries[i]
		e.Proof = newest(proofs[e.Attempt])
		if failed := unanswered(proofs[e.Attempt]); len(failed) > 0 {
			e.Failed = &failed[0]
		}
		for _, h := range holds[e.Attempt] {
			if h.Until.After(e.HeldUntil) {
				e.HeldUntil = h.Until
			}
		}
	}
	return c, proofs, nil
}

func (a *Archive) manifests(ctx context.Context, s Scope) (*Catalogue, error) {
	c := &Catalogue{}
	for o, err := range store.All(ctx, a.store, s.prefix(kindManifest)) {
		if err != nil {
			return nil, fmt.Errorf("list backups: %w", err)
		}
		if e, ok := parseEntry(o); ok {
			c.Entries = append(c.Entries, e)
		} else {
			c.Foreign++
		}
	}
	slices.SortFunc(c.Entries, func(x, y Entry) int { return strings.Compare(y.Attempt, x.Attempt) })
	return c, nil
}

// Find returns one backup by its identifier: ErrNotFound if none has it. If two attempts of one operation both
// came to their end, the first one counts.
func (a *Archive) Find(ctx context.Context, s Scope, id string) (Entry, error) {
	c, err := a.List(ctx, s)
	if err != nil {
		return Entry{}, err
	}
	for _, e := range slices.Backward(c.Entries) {
		if e.ID == id {
			return e, nil
		}
	}
	return Entry{}, fmt.Errorf("%w: %s in %s", ErrNotFound, id, a.store.URL())
}

// parseEntry reads the name of a manifest.
func parseEntry(o store.Object) (Entry, bool) {
	scope, rest, ok := parseKey(kindManifest, o.Key)
	if !ok {
		return Entry{}, false
	}
	attempt, f, ok := parseName(rest)
	if !ok || !isAttempt(attempt) || f['n'] == "" || f['e'] == "" {
		return Entry{}, false
	}
	bytes, err := strconv.ParseInt(f['b'], 10, 64)
	finished, other := strconv.ParseInt(f['f'], 10, 64)
	if err = errors.Join(err, other); err != nil || bytes < 0 || finished < 0 || finished > maxUnix {
		return Entry{}, false
	}
	e := Entry{
		Scope: scope, ID: f['n'], Attempt: attempt, Engine: f['e'], Version: f['v'], Incarnation: f['i'],
		Parent: f['p'], Position: f['r'], Bytes: bytes,
		StartedAt: attemptTime(attempt), FinishedAt: time.Unix(finished, 0).UTC(),
		Scheduled: strings.Contains(f['x'], "s"), Encrypted: strings.Contains(f['x'], "e"), Key: o.Key, Stored: o.Modified,
	}
	if timeline, number, found := strings.Cut(f['l'], "/"); found {
		e.Log = &LogStart{Timeline: timeline, Segment: number}
	}
	return e, true
}

// maxUnix is the last second of the year 9999.
const maxUnix = 253402300799

func attemptTime(attempt string) time.Time {
	id, err := ulid.ParseStrict(attempt)
	if err != nil {
		return time.Time{}
	}
	return id.Timestamp().UTC()
}
