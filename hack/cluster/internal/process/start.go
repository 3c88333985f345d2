package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/cgroup"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// Running is a component that this driver started.
type Running struct {
	name string
	log  string
	done chan struct{}
	exit error
}

// Start runs the component in a session of its own, with its output in its
// log file.
func Start(at site.Site, spec Spec) (*Running, error) {
	if !hooked {
		return nil, fmt.Errorf("start %s: %w", spec.Name, errNotHooked)
	}
	encoded, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("encode the component %s: %w", spec.Name, err)
	}
	for _, dir := range []string{at.Logs(), filepath.Dir(at.PID(spec.Name))} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("make a directory for %s: %w", spec.Name, err)
		}
	}
	log, err := os.OpenFile(at.Log(spec.Name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", spec.Name, err)
	}
	defer log.Close()

	command := exec.Command("/proc/self/exe", childCommand, string(encoded))
	command.Stdout, command.Stderr = log, log
	command.Dir = "/"
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	if err := os.WriteFile(at.PID(spec.Name), []byte(strconv.Itoa(command.Process.Pid)), 0o644); err != nil {
		return nil, fmt.Errorf("remember the process of %s: %w", spec.Name, err)
	}
	running := &Running{name: spec.Name, log: at.Log(spec.Name), done: make(chan struct{})}
	go func() {
		running.exit = command.Wait()
		close(running.done)
	}()
	return running, nil
}

// Await polls ready until it answers without an error. It gives up at once if
// the component ends, and shows the end of its log when it gives up.
func (r *Running) Await(ctx context.Context, ready func(context.Context) error) error {
	ticks := time.NewTicker(50 * time.Millisecond)
	defer ticks.Stop()
	var last error
	for {
		if last = ready(ctx); last == nil {
			return nil
		}
		select {
		case <-r.done:
			return r.Failure()
		case <-ctx.Done():
			return r.failure(fmt.Errorf("it is not ready in time: %w", last))
		case <-ticks.C:
		}
	}
}

// Ended is closed when the component has ended.
func (r *Running) Ended() <-chan struct{} { return r.done }

// Failure describes the end of a component that was not to end. It may be
// called once Ended is closed.
func (r *Running) Failure() error {
	if r.exit == nil {
		return r.failure(errEnded)
	}
	return r.failure(fmt.Errorf("it ended: %w", r.exit))
}

// errNotHooked is a mistake in a program other than the driver.
var errNotHooked = errors.New("this program does not call process.Hook: use the command instead")

// errEnded is the end of what was to run for ever, without a complaint.
var errEnded = errors.New("it ended by itself")

// failure names the component and quotes its log.
func (r *Running) failure(cause error) error {
	return fmt.Errorf("%s: %w\nlast lines of %s:\n%s", r.name, cause, r.log, Tail(r.log, 15))
}

// Alive reports whether the component's process runs.
func Alive(at site.Site, name string) bool {
	content, err := os.ReadFile(at.PID(name))
	if err != nil {
		return false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	return err == nil && cgroup.Contains(pid)
}
