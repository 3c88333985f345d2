package local

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// tailLines is how many of the last lines of a tool its error holds.
const tailLines = 8

// Run runs a tool to its end. The error holds its last words.
func (s Server) Run(ctx context.Context, name string, args ...string) error {
	return s.Feed(ctx, "", name, args...)
}

// Feed runs a tool with an input, which the error does not hold.
func (s Server) Feed(ctx context.Context, input, name string, args ...string) error {
	cmd := s.command(ctx, name, args)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		last := lines[max(0, len(lines)-tailLines):]
		return fmt.Errorf("run %s: %w: %s", name, err, strings.Join(last, "; "))
	}
	return nil
}

// Output runs a tool to its end, and returns what it prints.
func (s Server) Output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := s.command(ctx, name, args)
	var failed strings.Builder
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("run %s: %w: %s", name, err, strings.TrimSpace(failed.String()))
	}
	return string(out), nil
}

func (s Server) command(ctx context.Context, name string, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.Program(name), args...) //nolint:gosec // the program is ours
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "PGCONNECT_TIMEOUT=5")
	cmd.WaitDelay = time.Second
	return cmd
}
