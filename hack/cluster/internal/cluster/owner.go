package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/cgroup"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/machine"
)

// ownerFile says which state directory the cluster of this machine has. It is
// outside of it, for it is asked by those who have another one in mind.
const ownerFile = "/run/lock/dbop-cluster.state"

// marker is the file by which a directory is known to be ours to remove.
const marker = ".dbop-cluster"

// own marks the state directory before anything else is put there.
func (c Cluster) own() error {
	if err := os.MkdirAll(c.State, 0o755); err != nil {
		return fmt.Errorf("make the directory of the cluster: %w", err)
	}
	if c.Memory != "" {
		if err := machine.MountMemory(c.State, c.Memory); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(c.State, marker), nil, 0o644); err != nil {
		return fmt.Errorf("mark the directory of the cluster: %w", err)
	}
	if err := os.WriteFile(ownerFile, []byte(c.State), 0o644); err != nil {
		return fmt.Errorf("remember whose cluster runs on this machine: %w", err)
	}
	return nil
}

// mayClean refuses what --state with a wrong directory would destroy: somebody
// else's files, or the one cluster that a machine can have.
func (c Cluster) mayClean() error {
	owner, err := os.ReadFile(ownerFile)
	if other := strings.TrimSpace(string(owner)); err == nil && other != "" && other != c.State {
		pids, err := cgroup.Processes(cgroup.Root)
		if err != nil {
			return err
		}
		if len(pids) > 0 {
			return fmt.Errorf("the cluster at %s runs, and a machine can have one only: `cluster down --state %s` first", other, other)
		}
	}
	entries, err := os.ReadDir(c.State)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the directory of the cluster: %w", err)
	}
	if _, err := os.Stat(filepath.Join(c.State, marker)); err != nil {
		return fmt.Errorf("%s is not empty and not a cluster's, so it stays as it is: %w", c.State, err)
	}
	return nil
}

// disown forgets whose cluster it was.
func disown() error {
	if err := os.Remove(ownerFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget whose cluster ran on this machine: %w", err)
	}
	return nil
}
