// Package process starts the cluster's components so that they outlive the
// driver, and knows which of them still run.
package process

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/cgroup"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/netns"
)

// Spec is one component: what to run, and where.
type Spec struct {
	// Name is unique in the cluster and names the log file.
	Name string
	// Args is the command line, program first.
	Args []string
	// Env is added to the environment.
	Env []string
	// Netns is the path of the network namespace to run in; empty is the host's.
	Netns string
	// Group is the control group to run in.
	Group string
}

// childCommand is the first argument by which the driver, executing itself,
// knows that it is to become a component.
const childCommand = "become-component"

// hooked says that this program calls Hook, so that executing itself does
// what is expected. A test binary would run its tests again instead.
var hooked bool

// Hook is the first thing that the driver calls. It returns unless the process
// was started to become a component, which it then is, or if that fails.
func Hook() error {
	hooked = true
	if len(os.Args) != 3 || os.Args[1] != childCommand {
		return nil
	}
	return become(os.Args[2])
}

// become makes the calling process the component of an encoded Spec. It
// returns only if that fails. A program of our own rather than nsenter and a
// shell: the process has to be in its group before it can fork.
func become(encoded string) error {
	var spec Spec
	if err := json.Unmarshal([]byte(encoded), &spec); err != nil {
		return fmt.Errorf("decode the component to become: %w", err)
	}
	if err := cgroup.Join(spec.Group); err != nil {
		return err
	}
	if spec.Netns != "" {
		runtime.LockOSThread()
		if err := netns.Enter(spec.Netns); err != nil {
			return err
		}
	}
	// A component outlives the driver: whatever file the driver was started
	// with, such as a caller's lock, must not live on with it.
	const stderr = 2
	if err := unix.CloseRange(stderr+1, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("keep the driver's files from %s: %w", spec.Name, err)
	}
	if err := syscall.Exec(spec.Args[0], spec.Args, append(os.Environ(), spec.Env...)); err != nil {
		return fmt.Errorf("execute %s: %w", spec.Args[0], err)
	}
	return nil
}
