// Package process starts the cluster's components so that they outlive the
// driver, and knows which of them still run.
package process

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"syscall"

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

// ChildCommand is the first argument by which the driver, executing itself,
// knows that it is to become a component.
const ChildCommand = "become-component"

// Become turns the calling process into the component of an encoded Spec. It
// returns only if that fails. A program of our own rather than nsenter and a
// shell: the process has to be in its group before it can fork.
func Become(encoded string) error {
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
	if err := syscall.Exec(spec.Args[0], spec.Args, append(os.Environ(), spec.Env...)); err != nil {
		return fmt.Errorf("execute %s: %w", spec.Args[0], err)
	}
	return nil
}
