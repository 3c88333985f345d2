package process

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// End kills a component without warning and returns when it is gone.
func End(ctx context.Context, at site.Site, name string) error {
	if err := Signal(at, name, syscall.SIGKILL); err != nil {
		return err
	}
	for Alive(at, name) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s survives SIGKILL: %w", name, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}
