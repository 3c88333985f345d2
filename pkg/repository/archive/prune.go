package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// clockMargin is by how much the clocks of this machine and of the store may differ.
const clockMargin = 10 * time.Minute

// Result is what a prune did.
type Result struct {
	// Deleted are the identifiers of backups, Retained those that no rule keeps and that the store does not let go yet,
	// and those that one of these adds to.
	Deleted, Retained []string
	// Collected counts objects of attempts that nobody finished, Segments those of the log that no kept backup needs.
	Collected, Segments int
}

// Prune does what a plan says: what adds to others goes before those, else the oldest first. Then it collects what
// unfinished attempts and earlier prunes left behind. A crash leaves no backup that lacks its data; a repeat goes on.
func (a *Archive) Prune(ctx context.Context, p *Plan) (*Result, error) {
	r := &Result{Retained: p.retained}
	for _, d := range p.going() {
		if p.keeps(d.Attempt) {
			continue // the store retains one that adds to it
		}
		err := a.remove(ctx, d.Entry, p.now)
		switch {
		case errors.Is(err, store.ErrRetained):
			p.retain(d.Entry, "the store retains it")
			r.Retained = p.retained
		case err != nil:
			return r, fmt.Errorf("prune backup %s: %w", d.ID, err)
		default:
			r.Deleted = append(r.Deleted, d.ID)
		}
	}
	drop := a.dropping(ctx, p, &r.Segments)
	if err := a.logBefore(ctx, p, drop); err != nil {
		return r, fmt.Errorf("prune the log of %s: %w", p.Cluster, err)
	}
	var unfinished bool
	var err error
	if r.Collected, unfinished, err = a.collect(ctx, p.Scope, p.now); err != nil {
		return r, fmt.Errorf("collect what is left of unfinished backups: %w", err)
	}
	if unfinished {
		return r, nil // one of them may be of a former incarnation, or timeline
	}
	if err := a.spareLog(ctx, p, drop); err != nil {
		return r, fmt.Errorf("prune timelines of the log of %s: %w", p.Cluster, err)
	}
	if err := a.formerLogs(ctx, p, drop); err != nil {
		return r, fmt.Errorf("prune logs of former incarnations of %s: %w", p.Cluster, err)
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
// then the data stays until the hold ends; see Hold. What the store retains of it alone is collected later.
func (a *Archive) remove(ctx context.Context, e Entry, now time.Time) error {
	if err := a.store.Delete(ctx, e.Key); err != nil {
		return err
	}
	held, err := a.held(ctx, e.Scope, e.Attempt, now)
	if err != nil || held {
		return err
	}
	if err := a.wipe(ctx, e.Scope, e.Attempt); !errors.Is(err, store.ErrRetained) {
		return err
	}
	return nil
}

func (a *Archive) held(ctx context.Context, s Scope, attempt string, now time.Time) (bool, error) {
	holds, err := a.holds(ctx, s)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(holds[attempt], func(h Hold) bool { return h.Until.After(now) }), nil
}
