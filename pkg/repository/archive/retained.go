package archive

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// Retaining is the archive of the same store that has the store keep what it writes: volumes, manifests and segments
// of the log can't be deleted for so long, by the store's clock, from when their backup started, or they were
// appended. 0 is as long as the store keeps things by itself. Every write is ErrUnsupported where the store can't.
func (a *Archive) Retaining(d time.Duration) *Archive {
	return &Archive{store: a.store, keys: a.keys, now: a.now, retain: d}
}

// storeClock remembers the store's time, and when that was by the clock of this machine: what a process measures since
// then does not change when somebody sets that clock.
type storeClock struct {
	mu       sync.Mutex
	told, at time.Time
}

// options are those of what is written now. A clock that is wrong here must neither shorten a retention nor make one
// that never ends, so the store is asked for its time, once.
func (a *Archive) options(ctx context.Context) (store.Options, error) {
	if a.retain <= 0 {
		return store.Options{}, nil
	}
	a.clock.mu.Lock()
	defer a.clock.mu.Unlock()
	if a.clock.told.IsZero() {
		now, _, err := store.Clock(ctx, a.store)
		if err != nil {
			return store.Options{}, err
		}
		a.clock.told, a.clock.at = now, a.now()
	}
	now := a.clock.told.Add(a.now().Sub(a.clock.at))
	return store.Options{RetainUntil: now.Add(a.retain).UTC().Truncate(time.Second)}, nil
}

// retained has what the store does not let go stay in a plan, and what that adds to.
func (a *Archive) retained(ctx context.Context, p *Plan) error {
	for i := range p.Decisions {
		d := &p.Decisions[i]
		if d.Keep {
			continue
		}
		o, err := a.store.Head(ctx, d.Key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("ask how long backup %s is retained: %w", d.ID, err)
		}
		if err == nil && o.RetainedUntil.After(p.now) {
			d.RetainedUntil = o.RetainedUntil
			p.retain(d.Entry, "the store retains it until "+o.RetainedUntil.UTC().Format(time.RFC3339))
		}
	}
	return nil
}
