package harness

import (
	"context"
	"fmt"
	"time"
)

// pollEvery is the pause between two observations of a condition.
const pollEvery = 100 * time.Millisecond

// Until reads a condition until it holds. What the last observation found wrong is
// the reason in the error.
func Until(ctx context.Context, within time.Duration, what string, holds func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	began := time.Now()
	for {
		err := holds(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waited %s for %s: %w", time.Since(began).Round(time.Second), what, err)
		}
	}
}

const (
	// onceWithin bounds one request of the harness itself, repeatedWithin all its repeats.
	onceWithin     = 5 * time.Second
	repeatedWithin = 45 * time.Second
)

// repeated does a request that may be repeated until it succeeds, as the
// database may be between two leaders.
func repeated(ctx context.Context, what string, request func(ctx context.Context) error) error {
	return Until(ctx, repeatedWithin, what, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, onceWithin)
		defer cancel()
		return request(ctx)
	})
}
