package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/cgroup"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/machine"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/network"
)

// Down removes the cluster and everything it put on the machine; the cache
// stays.
func (c Cluster) Down(ctx context.Context) error {
	if err := c.clean(ctx); err != nil {
		return fmt.Errorf("take the cluster down: %w", err)
	}
	left, err := c.Leftovers()
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("these could not be removed: %v", left)
	}
	c.Log.Printf("nothing is left of the cluster")
	return nil
}

// clean removes whatever there is of a cluster, in whichever state: after a
// reboot only files are left, after a massacre everything but processes is.
// Each step is tried even if one before it failed.
func (c Cluster) clean(ctx context.Context) error {
	if err := c.mayClean(); err != nil {
		return err
	}
	killed := cgroup.Kill(ctx, cgroup.Root)
	if killed != nil {
		return killed // with processes alive nothing else would work
	}
	return errors.Join(
		// Of a file in memory that is unmounted nobody could say where it was.
		machine.UnmountBelow(c.State),
		machine.DetachLoops(c.State),
		machine.Unmount(c.State),
		network.RemoveLinks(),
		cgroup.Remove(cgroup.Root),
		machine.RemoveStrays(c.State),
		os.RemoveAll(c.State),
		disown(),
	)
}

// Leftovers lists what a cluster has put on the machine that is still there.
func (c Cluster) Leftovers() ([]string, error) {
	var left []string
	pids, failed := cgroup.Processes(cgroup.Root)
	for _, pid := range pids {
		left = append(left, fmt.Sprintf("process %d", pid))
	}
	// Namespaces of nodes and pods are held by mounts below the state; the
	// firewall tables of a node are in its namespace and go with it.
	for what, list := range map[string]func() ([]string, error){
		"mount":         func() ([]string, error) { return machine.Mounts(c.State) },
		"interface":     network.Links,
		"control group": func() ([]string, error) { return cgroup.Remaining(cgroup.Root) },
		"file":          func() ([]string, error) { return machine.Strays(c.State) },
	} {
		found, err := list()
		failed = errors.Join(failed, err)
		for _, name := range found {
			left = append(left, what+" "+name)
		}
	}
	loops, err := machine.Loops(c.State)
	failed = errors.Join(failed, err)
	for device, file := range loops {
		left = append(left, fmt.Sprintf("loop device %s of %s", device, file))
	}
	if _, err := os.Stat(c.State); err == nil {
		left = append(left, "directory "+c.State)
	}
	return left, failed
}
