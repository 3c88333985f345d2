package node

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/cgroup"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/machine"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/netns"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/network"
)

// Crash is a power loss: the cable goes dead first, so that no dying process
// gets to say goodbye to its peers, then everything on the node is killed.
func (n Node) Crash(ctx context.Context) error {
	if err := network.Cut(n.Index); err != nil {
		return err
	}
	return cgroup.Kill(ctx, cgroup.Node(n.Name))
}

// Reset removes what a reboot would have removed, so that a crashed node can
// start again: processes that survived, mounts, and volatile files.
func (n Node) Reset(ctx context.Context) error {
	if err := cgroup.Kill(ctx, cgroup.Node(n.Name)); err != nil {
		return err
	}
	if err := cgroup.Remove(cgroup.Node(n.Name)); err != nil {
		return err
	}
	if err := machine.Unmount(n.path()); err != nil {
		return err
	}
	if err := os.RemoveAll(n.volatile()); err != nil {
		return fmt.Errorf("remove the volatile files of node %s: %w", n.Name, err)
	}
	if err := netns.Delete(n.at.Netns(n.Name)); err != nil {
		return err
	}
	return network.Disconnect(n.Index)
}

// Remove takes the node away for good.
func (n Node) Remove(ctx context.Context) error {
	if err := n.Reset(ctx); err != nil {
		return err
	}
	var failed error
	for _, name := range []string{containerdName, kubeletName, proxyName} {
		failed = errors.Join(failed, os.RemoveAll(n.at.PID(n.component(name))))
	}
	if err := errors.Join(failed, os.RemoveAll(n.path())); err != nil {
		return fmt.Errorf("remove the files of node %s: %w", n.Name, err)
	}
	return nil
}
