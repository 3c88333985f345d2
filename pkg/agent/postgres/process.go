//go:build linux

package postgres

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/process"
)

// launch runs the server's program. When its first process ends, for whatever reason, all others are killed: they would
// go on without it.
func (s *Server) launch() (*process.Process, error) {
	c := s.Config
	for _, stale := range []string{filepath.Join(c.pgdata(), "postmaster.pid"), c.socket(c.Port) + ".lock"} {
		if err := os.Remove(stale); err != nil && !os.IsNotExist(err) {
			return nil, fmt.Errorf("start the server: %w", err)
		}
	}
	cmd := exec.Command(c.program("postgres"), s.arguments()...) //nolint:gosec // the program is ours
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	return process.Start(cmd, s.Others, s.line, s.ended)
}

// line copies a line of the server's log, and notes what makes this copy unfit.
func (s *Server) line(text string) {
	_, _ = fmt.Fprintln(s.Log, text)
	s.judge(text)
}

// tailLines is how many of the last lines of a tool its error holds.
const tailLines = 8

// run runs a tool to its end. The error holds its last words.
func (s *Server) run(ctx context.Context, name string, args ...string) error {
	return s.feed(ctx, "", name, args...)
}

// feed runs a tool with an input, which the error does not hold.
func (s *Server) feed(ctx context.Context, input, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, s.program(name), args...) //nolint:gosec // the program is ours
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "PGCONNECT_TIMEOUT=5")
	cmd.WaitDelay, cmd.Stdin = time.Second, strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		last := lines[max(0, len(lines)-tailLines):]
		return fmt.Errorf("run %s: %w: %s", name, err, strings.Join(last, "; "))
	}
	return nil
}
