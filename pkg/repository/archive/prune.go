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

// Plan is what a prune would do.
type Plan struct {
	Scope

	Decisions []Decision
	// Unsigned are backups whose manifests no trusted key signed for their names. They are never deleted, and
	// never a reason to delete another.
	Unsigned []Entry

	now time.Time
}

// Result is what a prune did.
type Result struct {
	// Deleted are the identifiers of backups, Retained those that the store would not let go yet.
	Deleted, Retained []string
	// Collected counts objects of attempts that nobody finished, Segments those of the log that no kept backup needs.
	Collected, Segments int
}

// Plan decides what goes, by the store's clock. ErrClock if this machine's differs from it by more than 10 minutes.
// Every backup that is a reason to let another go is read and its signature verified, and so is the proof of the newest
// one that was restored. What can't be read for another reason than its signature ends the plan with that error.
func (a *Archive) Plan(ctx context.Context, s Scope, r Retention) (*Plan, error) {
	now, within, err := store.Clock(ctx, a.store)
	if err != nil {
		return nil, err
	}
	if d := a.now().Sub(now).Abs(); d > clockMargin+within {
		return nil, fmt.Errorf("prune: %w: it is %s here and %s in %s; set the clock of this machine", ErrClock,
			a.now().UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339), a.store.URL())
	}
	c, proofs, err := a.list(ctx, s)
	if err != nil {
		return nil, err
	}
	p := &Plan{Scope: s, now: now}
	entries, known := c.Entries, map[string]bool{}
	restored := restorations{archive: a, named: proofs, signed: map[string]bool{}}
	for {
		proven := ""
		if !r.keepsAll() {
			if proven, err = restored.newest(ctx, entries); err != nil {
				return nil, err
			}
		}
		p.Decisions = r.Decide(entries, now, func(e Entry) bool { return e.Attempt == proven })
		unsigned, gone, err := a.doubtful(ctx, p.Decisions, known)
		if err != nil {
			return nil, err
		}
		if len(unsigned)+len(gone) == 0 {
			return p, nil
		}
		p.Unsigned = append(p.Unsigned, unsigned...)
		entries = slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool {
			return slices.ContainsFunc(slices.Concat(unsigned, gone), func(u Entry) bool { return u.Key == e.Key })
		})
	}
}

// doubtful reads the manifests of all that a plan changes, and of those that are a reason to let another go, once. It
// returns those that no trusted key signed, and those that are gone by now.
func (a *Archive) doubtful(ctx context.Context, all []Decision, known map[string]bool) (
	unsigned, gone []Entry, err error,
) {
	if !slices.ContainsFunc(all, func(d Decision) bool { return !d.Keep }) {
		return nil, nil, nil
	}
	for _, d := range all {
		if known[d.Key] || d.Keep && !d.Scheduled && !d.counts {
			continue
		}
		_, err := a.Manifest(ctx, d.Entry)
		switch {
		case err == nil:
			known[d.Key] = true
		case errors.Is(err, ErrNotFound):
			gone = append(gone, d.Entry)
		case errors.Is(err, ErrSignature), errors.Is(err, ErrDamaged), errors.Is(err, ErrFormat):
			unsigned = append(unsigned, d.Entry)
		default:
			return nil, nil, err
		}
	}
	return unsigned, gone, nil
}

// Prune does what a plan says: what adds to others goes before those, else the oldest first. Then it collects what
// unfinished attempts and earlier prunes left behind. A crash leaves no backup that lacks its data; a repeat goes on.
func (a *Archive) Prune(ctx context.Context, p *Plan) (*Result, error) {
	r := &Result{}
	for _, d := range p.going() {
		err := a.remove(ctx, d.Entry, p.now)
		switch {
		case errors.Is(err, store.ErrRetained):
			r.Retained = append(r.Retained, d.ID)
		case err != nil:
			return r, fmt.Errorf("prune backup %s: %w", d.ID, err)
		default:
			r.Deleted = append(r.Deleted, d.ID)
		}
	}
	var err error
	if r.Segments, err = a.pruneLog(ctx, p); err != nil {
		return r, err
	}
	if r.Collected, err = a.collect(ctx, p.Scope, p.now); err != nil {
		return r, fmt.Errorf("collect what is left of unfinished backups: %w", err)
	}
	return r, nil
}

// going are the decisions that delete, oldest first, and before all others those of backups that add to another: none
// is ever there without what it adds to.
func (p *Plan) going() []Decision {
	var out, others []Decision
	for _, d := range slices.Backward(p.Decisions) {
		switch {
		case d.Keep:
		case d.Parent != "":
			out = append(out, d)
		default:
			others = append(others, d)
		}
	}
	return append(out, others...)
}

// Keep has a backup stay, and the one that it adds to.
func (p *Plan) Keep(id, reason string) {
	for i := range p.Decisions {
		d := &p.Decisions[i]
		if d.ID != id {
			continue
		}
		if !d.Keep {
			d.Keep, d.Reason = true, reason
		}
		for j := range p.Decisions {
			if full := &p.Decisions[j]; full.Attempt == d.Parent && !full.Keep {
				full.Keep, full.Reason = true, addsTo(d.Entry)
			}
		}
	}
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
