package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Command runs one program as a user would: with an environment of its own
// and no terminal.
type Command struct {
	// Path of the program.
	Path string
	// Env overrides variables of the inherited environment; an empty value drops one.
	Env map[string]string
	// Dir is the working directory.
	Dir string
	// Echo, if set, receives stdout and stderr while the program runs.
	Echo io.Writer
}

// Result is what came of one run.
type Result struct {
	Args           []string
	Stdout, Stderr string
	// Code is the exit code, or -1 if a signal ended the program; Signal names it.
	Code     int
	Signal   syscall.Signal
	Began    time.Time
	Duration time.Duration
}

// Killed reports whether SIGKILL ended the program.
func (r Result) Killed() bool { return r.Signal == syscall.SIGKILL }

// String is the run as a terminal would show it.
func (r Result) String() string {
	end := fmt.Sprintf("exit %d", r.Code)
	if r.Signal != 0 {
		end = "ended by " + r.Signal.String()
	}
	return fmt.Sprintf("$ %s\n%s%s[%s after %s]", strings.Join(r.Args, " "), r.Stdout, r.Stderr, end,
		r.Duration.Round(time.Millisecond))
}

// Run runs the program to its end. An error means that it could not be run or
// was cut off by the context; a failing program is no error.
func (c Command) Run(ctx context.Context, args ...string) (Result, error) {
	p, err := c.Start(ctx, args...)
	if err != nil {
		return Result{}, err
	}
	return p.Wait()
}

// Process is a program that runs.
type Process struct {
	cmd            *exec.Cmd
	ctx            context.Context
	args           []string
	stdout, stderr lockedBuffer
	began          time.Time
	done           chan struct{}
	err            error
}

// killDelay is how long a program may take to end after it was interrupted
// because the context is over.
const killDelay = 5 * time.Second

// Start starts the program, which ends no later than the context.
func (c Command) Start(ctx context.Context, args ...string) (*Process, error) {
	p := &Process{ctx: ctx, args: append([]string{filepath.Base(c.Path)}, args...), began: time.Now(),
		done: make(chan struct{})}
	p.cmd = exec.CommandContext(ctx, c.Path, args...) // #nosec G204 -- the harness runs what it is told
	p.cmd.Dir = c.Dir
	p.cmd.Env = environment(c.Env)
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(os.Interrupt) }
	p.cmd.WaitDelay = killDelay
	p.cmd.Stdout, p.cmd.Stderr = io.Writer(&p.stdout), io.Writer(&p.stderr)
	if c.Echo != nil {
		p.cmd.Stdout, p.cmd.Stderr = io.MultiWriter(&p.stdout, c.Echo), io.MultiWriter(&p.stderr, c.Echo)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	go func() {
		defer close(p.done)
		p.err = p.cmd.Wait()
	}()
	return p, nil
}

// Signal sends a signal to the program.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Stdout and Stderr are what was printed so far.
func (p *Process) Stdout() string { return p.stdout.String() }

// Stderr is what was printed to standard error so far.
func (p *Process) Stderr() string { return p.stderr.String() }

// Ended reports whether the program has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Wait returns when the program has ended.
func (p *Process) Wait() (Result, error) {
	<-p.done
	err := p.err
	r := Result{Args: p.args, Stdout: p.stdout.String(), Stderr: p.stderr.String(), Began: p.began,
		Duration: time.Since(p.began)}
	if state := p.cmd.ProcessState; state != nil {
		r.Code = state.ExitCode()
		if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			r.Signal = status.Signal()
		}
	}
	if p.ctx.Err() != nil {
		return r, fmt.Errorf("%s was cut off: %w\n%s", strings.Join(p.args, " "), p.ctx.Err(), r)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return r, fmt.Errorf("run %s: %w", strings.Join(p.args, " "), err)
	}
	return r, nil
}

// personal reports whether a variable of the person who runs the tests would
// change what kubectl, etcdctl or the program under test does.
func personal(name string) bool {
	if strings.HasPrefix(name, "DBOP_CLUSTER_") {
		return false // where hack/cluster keeps its things
	}
	return name == "XDG_DATA_HOME" || slices.ContainsFunc([]string{"DBOP_", "ETCDCTL_", "KUBECTL_"},
		func(prefix string) bool {
			return strings.HasPrefix(name, prefix)
		})
}

// environment is the inherited one with overrides, without what is personal.
func environment(over map[string]string) []string {
	var out []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if _, replaced := over[name]; !replaced && !personal(name) {
			out = append(out, kv)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(over)) {
		if over[name] != "" {
			out = append(out, name+"="+over[name])
		}
	}
	return out
}

// lockedBuffer may be read while a program still writes to it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
