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
	probeInterval = 2 * time.Second
	probeTimeout  = 5 * time.Second
)

// probe has the primary flush its log now and then, without waiting for standbys, while a run of it goes on. An error
// that the server answers counts: it is alive.
func (s *Server) probe(p *process.Process) {
	conn := local.Session{Conninfo: s.Session(s.Port, "postgres", "probe")}
	defer conn.Close()
	for {
		at := s.Now()
		ctx, stop := context.WithTimeout(context.Background(), probeTimeout)
		_, err := conn.Ask(ctx, "SET synchronous_commit = local; SELECT pg_logical_emit_message(true, 'dbop', '')")
		stop()
		if err == nil || local.Answered(err) {
			s.mu.Lock()
			if s.proc == p {
				s.flushed = at
			}
			s.mu.Unlock()
		}
		select {
		case <-p.Done:
			return
		case <-s.hurried:
		case <-time.After(pulse.Next(probeInterval)):
		}
	}
}

// hurry has the primary probed at once.
func (s *Server) hurry() {
	select {
	case s.hurried <- struct{}{}:
	default:
	}
}
