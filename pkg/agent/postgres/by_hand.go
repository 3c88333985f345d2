//go:build linux

package postgres

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/process"
)

// byHandTime is how long a server that somebody else stops may take to end in order. It is killed then: the next
// primary comes as soon as after a crash.
const byHandTime = time.Second

// stopping is what the first process of a server notes in its file as soon as it is asked to stop, in whichever way.
const stopping = "stopping"

// hasten ends a run of the server soon that somebody besides the agent asked to stop. After a smart shutdown it would
// let nobody in, and wait for its sessions, the agent's among them, for ever.
func (s *Server) hasten(p *process.Process) {
	if !s.stops(p) {
		return
	}
	s.mu.Lock()
	asked := s.asked == p
	s.asked = p
	s.mu.Unlock()
	if asked {
		return
	}
	s.Report("somebody else asked the server to stop: it ends now, as after a crash")
	go func() {
		ctx, stop := context.WithTimeout(context.Background(), byHandTime)
		defer stop()
		if s.stopFast(ctx) != nil && s.running() == p {
			_ = s.StopNow() // it can't fail
		}
	}()
}

// stops says whether a run of the server was asked to stop, by the file of its first process: it costs no connection.
func (s *Server) stops(p *process.Process) bool {
	raw, err := os.ReadFile(filepath.Join(s.pgdata(), "postmaster.pid"))
	if err != nil {
		return false // it is about to make it, or to end
	}
	lines := strings.Split(string(raw), "\n")
	return lines[0] == strconv.Itoa(p.Cmd.Process.Pid) && len(lines) > 7 && strings.TrimSpace(lines[7]) == stopping
}
