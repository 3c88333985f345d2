//go:build linux

package valkey

import (
	"context"
	"strconv"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/session"
)

// setRecording counts the agent that reads the stream among the replicas that must be there, as the server does: before
// it connects, and until the server knows that it left. So it never counts in the place of a replica.
func (s *Server) setRecording(ctx context.Context, on bool) error {
	p := s.running()
	if p == nil {
		return errNotNow
	}
	if !on {
		ctx, stop := context.WithTimeout(ctx, session.AskTime)
		defer stop()
		if err := s.until(ctx, p, "end the reading of the log", func(a answer) bool { return !a.recorded }); err != nil {
			return err
		}
	}
	s.mu.Lock()
	same := s.proc == p
	if same {
		s.recording = on
	}
	s.mu.Unlock()
	if !same {
		return errNotNow
	}
	return s.setLeast(ctx)
}

// setLeast sets how many replicas must be there for a write.
func (s *Server) setLeast(ctx context.Context) error {
	s.least.Lock()
	defer s.least.Unlock()
	s.mu.Lock()
	need := s.need
	if need > 0 && s.recording {
		need++
	}
	s.mu.Unlock()
	_, err := s.ask(ctx, "CONFIG", "SET", leastReplicas, strconv.Itoa(need))
	return err
}
