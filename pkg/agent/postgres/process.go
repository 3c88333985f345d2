//go:build linux

package postgres

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/process"
)

// launch runs the server's program. When its first process ends, for whatever reason, all others are killed: they would
// go on without it.
func (s *Server) launch() (*process.Process, error) {
	c := s.Config
	for _, stale := range []string{filepath.Join(c.pgdata(), "postmaster.pid"), c.Socket(c.Port) + ".lock"} {
		if err := os.Remove(stale); err != nil && !os.IsNotExist(err) {
			return nil, fmt.Errorf("start the server: %w", err)
		}
	}
	cmd := exec.Command(c.Program("postgres"), s.arguments()...) //nolint:gosec // the program is ours
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	return process.Start(cmd, s.Others, s.line, s.ended)
}

// line copies a line of the server's log, and notes what makes this copy unfit.
func (s *Server) line(text string) {
	_, _ = fmt.Fprintln(s.Log, text)
	s.judge(text)
	s.unconfirmed.note(text, time.Now())
}
