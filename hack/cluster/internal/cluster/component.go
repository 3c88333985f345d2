package cluster

import (
	"context"
	"time"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/control"
)

// Keep starts the parts of the control plane again that end by themselves.
func (c Cluster) Keep(ctx context.Context) error {
	return control.Keep(ctx, c.Site, c.Log.Printf)
}

// RestartComponent kills a component of the control plane and starts it again
// after a while.
func (c Cluster) RestartComponent(ctx context.Context, name string, away time.Duration) error {
	client, err := c.running(ctx)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, away+startLimit)
	defer cancel()
	if err := control.Restart(limited, c.Site, client, name, away); err != nil {
		return err
	}
	c.Log.Printf("%s serves again", name)
	return nil
}
