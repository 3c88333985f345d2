//go:build linux

package valkey

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/process"
)

const (
	// crashTime is how long the end of a run that nobody asked for counts, mostCrashes how many are no exception.
	crashTime   = time.Minute
	mostCrashes = 3
	// heldBack is longer than the leader of the group waits for reports.
	heldBack = 3 * time.Second
)

// stop returns the present run, or nil, and notes that this agent ends it.
func (s *Server) stop() *process.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping = s.proc
	return s.proc
}

// crashed notes, under the lock, that a run ended which nobody stopped.
func (s *Server) crashed(p *process.Process) {
	if p == s.stopping || p.Cmd.ProcessState.Success() {
		return
	}
	s.crashes = append(s.crashes, time.Now())
}

// holdBack has a server that ends by itself again and again report late. What a primary holds counts more than what its
// replicas hold, so it would be appointed after each end. The others are asked alone meanwhile: if they hold all that
// was acknowledged, one of them is appointed.
func (s *Server) holdBack(ctx context.Context) error {
	s.mu.Lock()
	s.crashes = slices.DeleteFunc(s.crashes, func(at time.Time) bool { return time.Since(at) >= crashTime })
	n := len(s.crashes)
	s.mu.Unlock()
	if n < mostCrashes {
		return nil
	}
	s.Report(fmt.Sprintf("the server ended %d times by itself within %s: others may lead before it", n, crashTime))
	select {
	case <-ctx.Done():
	case <-time.After(heldBack):
	}
	return ctx.Err()
}
