//go:build linux

// Package process runs the server of a driver: it copies what the server prints, and leaves no process of it behind.
package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is one run of a server.
type Process struct {
	Cmd *exec.Cmd
	// Done is closed once no process of the server is left.
	Done chan struct{}

	mu    sync.Mutex
	lines []string
}

const (
	// tailLines is how many of the last lines are kept for messages.
	tailLines = 8
	// longestLine is how many bytes of a line are kept: a statement that failed is in the log as a whole.
	longestLine = 64 << 10
	// longestTail is how many of them a message has.
	longestTail = 1 << 10
)

// Tail returns the last lines that the server printed.
func (p *Process) Tail() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// Over says whether no process of the server is left.
func (p *Process) Over() bool {
	select {
	case <-p.Done:
		return true
	default:
		return false
	}
}

// Start runs a command. Line takes each line that it prints, of a long one the first 64 KiB. When its first process
// ends, for whatever reason, the others are killed, then ended is called, and then Done is closed.
func Start(cmd *exec.Cmd, others func() []int, line func(string), ended func(*Process)) (*Process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	cmd.Stdout, cmd.Stderr = in, in
	p := &Process{Cmd: cmd, Done: make(chan struct{})}
	if err := errors.Join(WithSlack(serverSlack, cmd.Start), in.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("start the server: %w", err), out.Close())
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		p.scan(out, line)
		_ = out.Close()
	}()
	go func() {
		_ = cmd.Wait() // how it ended is in its log
		KillAll(others)
		<-read
		ended(p)
		close(p.Done)
	}()
	return p, nil
}

func (p *Process) scan(out io.Reader, line func(string)) {
	for in := bufio.NewReaderSize(out, longestLine); ; {
		read, more, err := in.ReadLine()
		if err != nil {
			return
		}
		text := string(read)
		for more && err == nil {
			_, more, err = in.ReadLine()
		}
		p.mu.Lock()
		p.lines = append(p.lines, cut(text, longestTail))
		if n := len(p.lines); n > tailLines {
			p.lines = slices.Clone(p.lines[n-tailLines:])
		}
		p.mu.Unlock()
		line(cut(text, longestLine))
	}
}

// cut leaves a mark where a text goes on.
func cut(text string, most int) string {
	if len(text) < most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " ..."
}

// Wait returns once no process of the server is left, or the context ended.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.Done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop the server: %w", ctx.Err())
	}
}

// Kill kills every process in the container, and returns when none of this run is left. There may be no run.
func (p *Process) Kill(others func() []int) {
	KillAll(others)
	if p != nil {
		<-p.Done
	}
}

// KillAll kills every other process in the container, until none is left.
func KillAll(others func() []int) {
	for {
		left := others()
		if len(left) == 0 {
			return
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
		time.Sleep(5 * time.Millisecond)
	}
}
