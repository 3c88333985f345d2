package process

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/cgroup"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// End kills a component without warning and returns when it is gone. Nobody
// takes it for one that ended by itself: what remembers its process goes first.
func End(ctx context.Context, at site.Site, name string) error {
	pid, err := running(at, name)
	if err != nil {
		return fmt.Errorf("end %s: %w", name, err)
	}
	if err := os.Remove(at.PID(name)); err != nil {
		return fmt.Errorf("end %s: %w", name, err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("end %s (process %d): %w", name, pid, err)
	}
	for cgroup.Contains(pid) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s survives SIGKILL: %w", name, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}
