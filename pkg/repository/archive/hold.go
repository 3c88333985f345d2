package archive

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// Hold keeps a backup until it expires, from every prune, wherever it runs. A restore or a
// verification that is killed needs no cleaning up.
type Hold struct {
	Attempt string    `json:"attempt"`
	Until   time.Time `json:"until"`
	Reason  string    `json:"reason"`

	key string
}

// Hold puts a hold on a backup and reads its manifest afterwards: ErrNotFound if a prune was faster. From then on
// the data stays until the hold is released, or expires by the store's clock, whatever that of this machine says. A
// longer one takes another Hold.
func (a *Archive) Hold(ctx context.Context, e Entry, d time.Duration, reason string) (*Manifest, *Hold, error) {
	h, err := a.putHold(ctx, e, a.now().Add(d), reason)
	if err != nil {
		return nil, nil, err
	}
	o, err := a.store.Head(ctx, h.key)
	if errors.Is(err, store.ErrNotFound) {
		// It went with the backup.
		return nil, nil, fmt.Errorf("hold backup %s: %w: %w", e.ID, ErrNotFound, err)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("hold backup %s: %w", e.ID, err), a.Release(ctx, h))
	}
	if until := o.Modified.Add(d); h.Until.Before(until.Add(-min(clockMargin, d/2))) {
		early := h
		h, err = a.putHold(ctx, e, until, reason)
		if err = errors.Join(err, a.Release(ctx, early)); err != nil {
			return nil, nil, err
		}
	}
	m, err := a.Manifest(ctx, e)
	if err != nil {
		return nil, nil, errors.Join(err, a.Release(ctx, h))
	}
	return m, h, nil
}

func (a *Archive) putHold(ctx context.Context, e Entry, until time.Time, reason string) (*Hold, error) {
	id, err := a.newULID()
	if err != nil {
		return nil, err
	}
	h := &Hold{Attempt: e.Attempt, Until: until.UTC().Truncate(time.Second), Reason: reason}
	fields := []field{{'t', strconv.FormatInt(h.Until.Unix(), 10)}, {'u', id}}
	text, err := name{lead: e.Attempt, fields: fields}.fits(len(fields))
	if err != nil {
		return nil, err
	}
	h.key = e.prefix(kindHold) + text + ".json"
	if err := a.putSigned(ctx, h.key, h, store.Options{}); err != nil {
		return nil, fmt.Errorf("hold backup %s: %w", e.ID, err)
	}
	return h, nil
}

// Release ends a hold. A repeat does nothing. One that the store retains counts until it expires.
func (a *Archive) Release(ctx context.Context, h *Hold) error {
	if err := a.store.Delete(ctx, h.key); err != nil && !errors.Is(err, store.ErrRetained) {
		return fmt.Errorf("release the hold on attempt %s: %w", h.Attempt, err)
	}
	return nil
}

// holds reads the names of all holds, by attempt. Expired ones are among them. One that nobody signed counts: it
// can only keep something.
func (a *Archive) holds(ctx context.Context, s Scope) (map[string][]Hold, error) {
	out := map[string][]Hold{}
	for o, err := range store.All(ctx, a.store, s.prefix(kindHold)) {
		if err != nil {
			return nil, fmt.Errorf("list holds: %w", err)
		}
		_, rest, ok := parseKey(kindHold, o.Key)
		if !ok {
			continue
		}
		attempt, f, ok := parseName(rest)
		until, err := strconv.ParseInt(f['t'], 10, 64)
		if !ok || !isAttempt(attempt) || err != nil || until < 0 || until > maxUnix {
			continue
		}
		out[attempt] = append(out[attempt], Hold{Attempt: attempt, Until: time.Unix(until, 0).UTC(), key: o.Key})
	}
	return out, nil
}
