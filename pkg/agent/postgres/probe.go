//go:build linux

package postgres

import (
	"context"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/process"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/pulse"
)

const (
	// probeInterval is the time between two probes, and calmInterval the one after a probe that took less than quick: a
	// slow disk needs more of them, or the last flush would be too old for the lease while the next one takes long.
	probeInterval = 2 * time.Second
	calmInterval  = 2 * probeInterval
	quick         = 100 * time.Millisecond
	// firstProbe is when the first one comes: a promotion flushed the log just now, and its clients wait for the processor
	// that a new session takes.
	firstProbe   = time.Second
	probeTimeout = 5 * time.Second
	// advanceAfter is how long a primary serves before its log advances: replicas take 16 MiB for that, and clients have
	// just started to write again.
	advanceAfter = 10 * time.Second
)

// probe has the primary flush its log now and then, without waiting for standbys, while a run of it goes on. An error
// that the server answers counts: it is alive.
func (s *Server) probe(p *process.Process) {
	conn := local.Session{Conninfo: s.Session(s.Port, "postgres", "probe")}
	defer conn.Close()
	began, advanced := s.Now(), false
	for due := time.After(firstProbe); s.waits(p, due); {
		at := s.Now()
		ctx, stop := context.WithTimeout(context.Background(), probeTimeout)
		_, err := conn.Ask(ctx, "SET synchronous_commit = local; SELECT pg_logical_emit_message(true, 'dbop', '')")
		if err == nil && !advanced && at.Sub(began) >= advanceAfter {
			advanced = s.advance(ctx, &conn) == nil
		}
		stop()
		if err == nil || local.Answered(err) {
			s.mu.Lock()
			if s.proc == p {
				s.flushed = at
			}
			s.mu.Unlock()
		}
		interval := probeInterval
		if s.Now().Sub(at) < quick {
			interval = calmInterval
		}
		due = time.After(pulse.Next(interval))
	}
}

// waits waits until a probe is due, or asked for, and says whether this run of the server goes on.
func (s *Server) waits(p *process.Process, due <-chan time.Time) bool {
	select {
	case <-p.Done:
		return false
	case <-s.hurried:
	case <-due:
	}
	return true
}

// hurry has the primary probed at once.
func (s *Server) hurry() {
	select {
	case s.hurried <- struct{}{}:
	default:
	}
}
