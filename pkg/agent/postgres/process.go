//go:build linux

package postgres

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is one run of the server.
type process struct {
	cmd *exec.Cmd
	// done is closed once no process of the server is left.
	done chan struct{}
	tail *tail
}

// tail keeps the last lines of a program for messages.
type tail struct {
	mu    sync.Mutex
	lines []string
}

const tailLines = 8

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line)
	if n := len(t.lines); n > tailLines {
		t.lines = slices.Clone(t.lines[n-tailLines:])
	}
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "\n")
}

// launch runs the server's program. When its first process ends, for whatever reason, all others are killed: they would
// go on without it.
func (s *Server) launch() (*process, error) {
	c := s.Config
	for _, stale := range []string{filepath.Join(c.pgdata(), "postmaster.pid"), c.socket(c.Port) + ".lock"} {
		if err := os.Remove(stale); err != nil && !os.IsNotExist(err) {
			return nil, fmt.Errorf("start the server: %w", err)
		}
	}
	cmd := exec.Command(c.program("postgres"), s.arguments()...) //nolint:gosec // the program is ours
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	cmd.Stdout, cmd.Stderr = in, in
	p := &process{cmd: cmd, done: make(chan struct{}), tail: &tail{}}
	if err := errors.Join(cmd.Start(), in.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("start the server: %w", err), out.Close())
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		s.scan(out, p.tail)
		_ = out.Close()
	}()
	go func() {
		_ = cmd.Wait() // how it ended is in its log
		s.killAll()
		<-read
		s.ended(p)
		close(p.done)
	}()
	return p, nil
}

// scan copies the log of the server, and notes what makes this copy unfit.
func (s *Server) scan(out io.Reader, t *tail) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		t.add(lines.Text())
		_, _ = fmt.Fprintln(s.Log, lines.Text())
		s.judge(lines.Text())
	}
	_, _ = io.Copy(io.Discard, out) // a line that is too long must not stop the server
}

// killAll kills every other process in the container, until none is left.
func (s *Server) killAll() {
	for {
		others := s.Others()
		if len(others) == 0 {
			return
		}
		for _, pid := range others {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// run runs a tool to its end. The error holds its last words.
func (s *Server) run(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, s.program(name), args...) //nolint:gosec // the program is ours
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "PGCONNECT_TIMEOUT=5")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		last := lines[max(0, len(lines)-tailLines):]
		return fmt.Errorf("run %s: %w: %s", name, err, strings.Join(last, "; "))
	}
	return nil
}
