package helper

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

// idleAfter is how long a server waits for its next request: who started it asks within seconds, and one whose command
// was killed keeps its claim from others.
const idleAfter = 15 * time.Minute

// errIdle: nobody asked a server for anything for so long.
var errIdle = errors.New("no request came within " + idleAfter.String())

// idler ends a server that nobody asks. A request that goes on counts until its end.
type idler struct {
	http.Handler

	after time.Duration
	mu    sync.Mutex
	busy  int
	timer *time.Timer
}

// untilIdle returns a context for a server and its handler, which ends with errIdle as its cause.
func untilIdle(ctx context.Context, h http.Handler, after time.Duration) (context.Context, http.Handler, func()) {
	ctx, end := context.WithCancelCause(ctx)
	i := &idler{Handler: h, after: after}
	i.timer = time.AfterFunc(after, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.busy == 0 {
			end(errIdle)
		}
	})
	return ctx, i, func() {
		i.timer.Stop()
		end(nil)
	}
}

// ServeHTTP implements http.Handler.
func (i *idler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.count(1)
	defer i.count(-1)
	i.Handler.ServeHTTP(w, r)
}

func (i *idler) count(n int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.busy += n; i.busy == 0 {
		i.timer.Reset(i.after)
	}
}
