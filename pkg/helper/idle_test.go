package helper

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// A server ends once nobody asked it for so long; a request may take longer.
func TestUntilIdle(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		// requests begin after these times, and each takes long.
		requests []time.Duration
		long     time.Duration
		ends     time.Duration
	}{
		"nobody asks": {ends: 15 * time.Minute},
		"one asks for long": {requests: []time.Duration{time.Minute}, long: 5 * time.Hour,
			ends: 5*time.Hour + 16*time.Minute},
		"some ask in time": {requests: []time.Duration{14 * time.Minute, 28 * time.Minute},
			ends: 43 * time.Minute},
		"two at once": {requests: []time.Duration{0, time.Hour}, long: 2 * time.Hour, ends: 3*time.Hour + 15*time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				ctx, h, done := untilIdle(t.Context(), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
					time.Sleep(row.long)
				}), idleAfter)
				defer done()
				for _, at := range row.requests {
					time.AfterFunc(at, func() { h.ServeHTTP(nil, httptest.NewRequest(http.MethodGet, "/", nil)) })
				}
				<-ctx.Done()
				if took := time.Since(start); took != row.ends || !errors.Is(context.Cause(ctx), errIdle) {
					t.Errorf("it ended after %s with %v, want %s", took, context.Cause(ctx), row.ends)
				}
			})
		})
	}
}
