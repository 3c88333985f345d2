package helper

import (
	"sync"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// State is how far a receiver is.
type State string

// A receiver waits, receives, runs the command, and either ends or waits again.
const (
	StateWaiting   State = "waiting"
	StateReceiving State = "receiving"
	StateLoading   State = "loading"
	StateLoaded    State = "loaded"
)

// Status is what a receiver answers to GET /status, and to a load that is done.
type Status struct {
	State     State  `json:"state"`
	Operation string `json:"operation"`
	// Received of Size bytes, of the load that is under way or came last.
	Received int64 `json:"received"`
	Size     int64 `json:"size"`
	// Problem is why the last load failed.
	Problem string `json:"problem,omitempty"`
	// DataHash describes what was loaded, where that was asked for.
	DataHash *engine.DataHash `json:"imprint,omitempty"`
}

// board is a Status that one goroutine writes and many read.
type board struct {
	mu     sync.Mutex
	status Status
}

func (b *board) now() Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.status
}

func (b *board) change(f func(*Status)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(&b.status)
}

// start enters the receiving state, for one caller at a time.
func (b *board) start(size int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.status.State != StateWaiting {
		return false
	}
	b.status = Status{State: StateReceiving, Operation: b.status.Operation, Size: size}
	return true
}
