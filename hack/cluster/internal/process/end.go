package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/cgroup"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// End kills a component without warning and returns when it is gone.
func End(ctx context.Context, at site.Site, name string) error {
	content, err := os.ReadFile(at.PID(name))
	if err != nil {
		return fmt.Errorf("find the process of %s: %w", name, err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return fmt.Errorf("find the process of %s: %w", name, err)
	}
	// The number may belong to somebody else by now.
	if !cgroup.Contains(pid) {
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("kill %s: %w", name, err)
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
