package repository

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// A stream may take for ever as long as it moves; one that does not is given up with the reason.
func TestStandstill(t *testing.T) {
	t.Parallel()
	const after = 20 * time.Minute
	for name, row := range map[string]struct {
		// pauses are before each byte; then the stream ends, and what follows takes idle.
		pauses []time.Duration
		idle   time.Duration
		gives  bool
		took   time.Duration
	}{
		"a day of slow bytes": {pauses: slow(24 * 4), took: 24 * time.Hour},
		"one long pause":      {pauses: []time.Duration{time.Minute, time.Hour}, gives: true, took: 21 * time.Minute},
		"nothing at all":      {pauses: []time.Duration{time.Hour}, gives: true, took: after},
		"long work afterwards": {pauses: slow(1), idle: 10 * time.Hour,
			took: 10*time.Hour + 15*time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				ctx, watch := WatchStandstill(t.Context(), after)
				_, err := io.Copy(io.Discard, watch.Reader(&paced{ctx: ctx, pauses: row.pauses}))
				if err == nil {
					select {
					case <-time.After(row.idle):
					case <-ctx.Done():
						err = ctx.Err()
					}
				}
				err = watch.End(err)
				if errors.Is(err, ErrStandstill) != row.gives || (err != nil) != row.gives {
					t.Errorf("it ended with %v", err)
				}
				if took := time.Since(start); took != row.took {
					t.Errorf("it took %s, want %s", took, row.took)
				}
			})
		})
	}
}

// Who ends the work for another reason is told that one.
func TestStandstillOtherEnd(t *testing.T) {
	t.Parallel()
	parent, stop := context.WithCancel(t.Context())
	ctx, watch := WatchStandstill(parent, time.Hour)
	stop()
	if err := watch.End(ctx.Err()); !errors.Is(err, context.Canceled) || errors.Is(err, ErrStandstill) {
		t.Errorf("it ended with %v", err)
	}
}

func slow(n int) (out []time.Duration) {
	for range n {
		out = append(out, 15*time.Minute)
	}
	return out
}

// paced is a stream of single bytes, each after a pause.
type paced struct {
	ctx    context.Context
	pauses []time.Duration
}

func (p *paced) Read(b []byte) (int, error) {
	if len(p.pauses) == 0 {
		return 0, io.EOF
	}
	select {
	case <-time.After(p.pauses[0]):
	case <-p.ctx.Done():
		return 0, p.ctx.Err()
	}
	p.pauses = p.pauses[1:]
	b[0] = 'x'
	return 1, nil
}
