package archive

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

const (
	// clockMargin is by how much the clocks of this machine and of the store may differ.
	clockMargin = 10 * time.Minute
	// abandonedAfter is how long an attempt without a manifest may store nothing before it is collected.
	abandonedAfter = 24 * time.Hour
)

// Result is what a prune did.
type Result struct {
	// Deleted are the identifiers of backups, Retained those that the store would not let go yet, and those that one of
	// these adds to.
	Deleted, Retained []string
	// Collected counts objects of attempts that nobody finished, Segments those of the log that no kept backup needs.
	Collected, Segments int
}

// Prune does what a plan says: what adds to others goes before those, else the oldest first. Then it collects what
// unfinished attempts and earlier prunes left behind. A crash leaves no backup that lacks its data; a repeat goes on.
func (a *Archive) Prune(ctx context.Context, p *Plan) (*Result, error) {
	r, stay, needed := &Result{}, slices.Clone(p.Unsigned), map[string]bool{}
	for _, d := range p.Decisions {
		if d.Keep {
			stay = append(stay, d.Entry)
		}
	}
	for _, d := range p.going() {
		err := store.ErrRetained
		if !needed[d.Attempt] {
			err = a.remove(ctx, d.Entry, p.now)
		}
		switch {
		case errors.Is(err, store.ErrRetained):
			r.Retained, stay = append(r.Retained, d.ID), append(stay, d.Entry)
			needed[d.Parent] = true
		case err != nil:
			return r, fmt.Errorf("prune backup %s: %w", d.ID, err)
		default:
			r.Deleted = append(r.Deleted, d.ID)
		}
	}
	var err error
	if r.Segments, err = a.pruneLog(ctx, p, stay); err != nil {
		return r, err
	}
	if r.Collected, err = a.collect(ctx, p.Scope, p.now); err != nil {
		return r, fmt.Errorf("collect what is left of unfinished backups: %w", err)
	}
	return r, nil
}

// Remove deletes one backup by the will of a person. ErrRetained if the store keeps it, ErrNeeded while another one
// adds to it.
func (a *Archive) Remove(ctx context.Context, e Entry) error {
	now, _, err := store.Clock(ctx, a.store)
	if err != nil {
		return err
	}
	if e.HeldUntil.After(now) {
		return fmt.Errorf("delete backup %s: it is held until %s; wait until what uses it has ended", e.ID,
			e.HeldUntil.Format(time.RFC3339))
	}
	c, err := a.manifests(ctx, e.Scope)
	if err != nil {
		return err
	}
	for _, other := range c.Entries {
		if other.Parent == e.Attempt {
			return fmt.Errorf("delete backup %s: %w: %s; delete that first", e.ID, ErrNeeded, other.ID)
		}
	}
	return a.remove(ctx, e, now)
}

// remove deletes the manifest first, so that nobody finds the backup any more. Who found it before holds it, and
// then the data stays until the hold ends; see Hold.
func (a *Archive) remove(ctx context.Context, e Entry, now time.Time) error {
	if err := a.store.Delete(ctx, e.Key); err != nil {
		return err
	}
	held, err := a.held(ctx, e.Scope, e.Attempt, now)
	if err != nil || held {
		return err
	}
	return a.wipe(ctx, e.Scope, e.Attempt)
}

func (a *Archive) held(ctx context.Context, s Scope, attempt string, now time.Time) (bool, error) {
	holds, err := a.holds(ctx, s)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(holds[attempt], func(h Hold) bool { return h.Until.After(now) }), nil
}

// wipe deletes everything of an attempt but its manifest.
func (a *Archive) wipe(ctx context.Context, s Scope, attempt string) error {
	for _, prefix := range []string{
		s.prefix(kindData) + attempt + "/", s.prefix(kindAttempt) + attempt + "/",
		s.prefix(kindProof) + attempt + "_", s.prefix(kindHold) + attempt + "_",
	} {
		if err := a.deleteAll(ctx, prefix); err != nil {
			return err
		}
	}
	return nil
}

// collect deletes what belongs to no backup, once nothing was added to it for a day and no hold keeps it.
func (a *Archive) collect(ctx context.Context, s Scope, now time.Time) (int, error) {
	// The manifests come last: an attempt that ends meanwhile is in one list or in the other.
	last, count := map[string]time.Time{}, map[string]int{}
	for _, kind := range []string{kindAttempt, kindData} {
		for o, err := range store.All(ctx, a.store, s.prefix(kind)) {
			if err != nil {
				return 0, err
			}
			attempt, _, ok := strings.Cut(strings.TrimPrefix(o.Key, s.prefix(kind)), "/")
			if !ok || !isAttempt(attempt) {
				continue
			}
			count[attempt]++
			if o.Modified.After(last[attempt]) {
				last[attempt] = o.Modified
			}
		}
	}
	for o, err := range store.All(ctx, a.store, s.prefix(kindManifest)) {
		if err != nil {
			return 0, err
		}
		// That of a newer version counts too, whatever else is in its name.
		attempt, _, _ := strings.Cut(path.Base(o.Key), "_")
		delete(last, strings.TrimSuffix(attempt, ".json"))
	}
	holds, err := a.holds(ctx, s)
	if err != nil {
		return 0, err
	}
	collected := 0
	for attempt, at := range last {
		held := slices.ContainsFunc(holds[attempt], func(h Hold) bool { return h.Until.After(now) })
		if held || now.Sub(at) < abandonedAfter {
			continue
		}
		err := a.wipe(ctx, s, attempt)
		if errors.Is(err, store.ErrRetained) {
			continue
		}
		if err != nil {
			return collected, err
		}
		collected += count[attempt]
	}
	swept, err := a.store.Sweep(ctx, s.prefix(kindData), now.Add(-abandonedAfter))
	return collected + swept, err
}
