//go:build linux

// Package guard is the first process of a member's container. It runs the agent, and it kills every other process of
// the container when the deadline of the primary is over, whatever the agent does. A dead first process of a database
// is not a stopped database: its sessions go on. So the guard is also the parent of all that lose theirs.
package guard

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/process"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

const (
	// clockInterval is how often the guard reads the clock at least, while it has a deadline: nothing depends on the
	// alarm alone. It reads it with each new deadline, and those come more often.
	clockInterval = 1250 * time.Millisecond
	// killInterval is how often it kills until nothing is left.
	killInterval = 5 * time.Millisecond
	// restartPause is how long the guard waits before it starts the agent again.
	restartPause = 200 * time.Millisecond
	// stopTime is how long the agent may take to stop its server after a signal.
	stopTime = 25 * time.Second
)

// Now reads CLOCK_BOOTTIME: it goes on while the machine sleeps, and nobody can set it.
func Now() protocol.Instant {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic(fmt.Sprintf("read CLOCK_BOOTTIME: %v", err)) // no deadline can be kept without it
	}
	return protocol.Instant(t.Nano())
}

// Guard runs an agent.
type Guard struct {
	// Command is the agent and its arguments. It gets the guard's end as file descriptor 3: see Dial.
	Command []string
	// Env is what the agent finds in its environment besides that of the guard, as NAME=VALUE.
	Env []string
	Log io.Writer

	// changed says that the guard got another deadline, or lost it.
	changed chan struct{}
	alarm   *alarm

	mu       sync.Mutex
	armed    bool
	deadline protocol.Instant
}

// Run runs the agent, and again when it ends, until the context is done; then the agent gets SIGTERM and time to stop
// its server. When Run returns, no process below the guard is left.
func (g *Guard) Run(ctx context.Context) error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the parent of processes that lose theirs: %w", err)
	}
	g.changed = make(chan struct{}, 1)
	var err error
	if g.alarm, err = newAlarm(); err != nil {
		return err
	}
	defer g.alarm.close()
	for ctx.Err() == nil {
		if err := g.once(ctx); err != nil {
			fmt.Fprintln(g.Log, "guard:", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(restartPause):
		}
	}
	return nil
}

// once runs the agent to its end, and leaves no process.
func (g *Guard) once(ctx context.Context) error {
	g.set(protocol.SetDeadline{Unlimited: true})
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("connect to the agent: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "agent"), os.NewFile(uintptr(pair[1]), "guard")
	defer ours.Close() //nolint:errcheck // nothing is written any more
	//nolint:gosec // that is what it is for
	agent := exec.Command(g.Command[0], g.Command[1:]...)
	agent.Stdout, agent.Stderr, agent.ExtraFiles = g.Log, g.Log, []*os.File{theirs}
	agent.Env = slices.Concat(os.Environ(), g.Env, []string{pidVariable + "=" + strconv.Itoa(os.Getpid())})
	if err := errors.Join(process.WithSlack(process.AgentSlack, agent.Start), theirs.Close()); err != nil {
		g.killAll()
		return fmt.Errorf("start the agent: %w", err)
	}
	go g.listen(ours)
	ended := make(chan struct{})
	defer func() {
		g.killAll()
		<-ended // nobody else waits for the processes of the next agent
	}()
	go func() {
		defer close(ended)
		reap(agent.Process.Pid)
	}()
	tick := time.NewTimer(clockInterval)
	defer tick.Stop()
	stopping := ctx.Done()
	var late <-chan time.Time
	for {
		select {
		case <-ended:
			if ctx.Err() != nil {
				return nil // as it was asked to
			}
			return errors.New("the agent ended: every other process is killed, and it starts again")
		case <-stopping:
			stopping, late = nil, time.After(stopTime)
			_ = agent.Process.Signal(syscall.SIGTERM)
		case <-late:
			return errors.New("the agent did not stop in time: every process is killed")
		case <-g.changed:
		case <-g.alarm.rings:
		case <-tick.C:
		}
		if g.over(Now()) {
			return errors.New("the lease is over: every process is killed, and the agent starts again")
		}
		tick.Reset(g.nextCheck(Now()))
	}
}

// listen takes deadlines. Each is answered once it is in force.
func (g *Guard) listen(agent io.ReadWriter) {
	for s := bufio.NewScanner(agent); s.Scan(); {
		word, number, _ := strings.Cut(s.Text(), " ")
		at, err := strconv.ParseInt(number, 10, 64)
		switch {
		case word == "disarm":
			g.set(protocol.SetDeadline{Unlimited: true})
		case word == "deadline" && err == nil:
			g.set(protocol.SetDeadline{At: protocol.Instant(at)})
		default:
			fmt.Fprintf(g.Log, "guard: the agent says %q, which means nothing\n", s.Text())
			continue
		}
		if _, err := io.WriteString(agent, "ok\n"); err != nil {
			return
		}
	}
}

func (g *Guard) set(d protocol.SetDeadline) {
	at := d.At
	if d.Unlimited {
		at = 0
	}
	if err := g.alarm.set(at); err != nil {
		fmt.Fprintln(g.Log, "guard:", err) // it reads the clock in time
	}
	g.mu.Lock()
	g.armed, g.deadline = !d.Unlimited, d.At
	g.mu.Unlock()
	select {
	case g.changed <- struct{}{}:
	default:
	}
}

// nextCheck is when to read the clock next.
func (g *Guard) nextCheck(now protocol.Instant) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.armed {
		return time.Hour
	}
	return max(time.Millisecond, min(clockInterval, g.deadline.Sub(now)))
}

func (g *Guard) over(now protocol.Instant) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.armed && now >= g.deadline
}
