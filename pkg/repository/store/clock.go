package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"
)

// Trials is what keys of objects begin with that mean nothing once somebody has tried the store with them. A prune
// deletes those that stayed.
const Trials = "probe/"

// Clock asks the store for its time: it puts a small object, reads when that appeared, and deletes it. within
// is how long that took at most, so the answer is exact to that much, and to a second. Where the store retains each new
// object, the small one stays.
func Clock(ctx context.Context, s Store) (now time.Time, within time.Duration, err error) {
	key := Trials + "clock-" + rand.Text()
	began := time.Now()
	if err := s.Put(ctx, key, []byte("clock\n"), Options{}); err != nil {
		return time.Time{}, 0, fmt.Errorf("ask for the time of %s: %w", s.URL(), err)
	}
	o, err := s.Head(ctx, key)
	within = time.Since(began)
	if deleted := s.Delete(ctx, key); !errors.Is(deleted, ErrRetained) {
		err = errors.Join(err, deleted)
	}
	if err != nil {
		return time.Time{}, 0, fmt.Errorf("ask for the time of %s: %w", s.URL(), err)
	}
	return o.Modified, within, nil
}
