package opstest

import (
	"context"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

func (o *Overtaken) UpdateCluster(ctx context.Context, c *v1alpha1.DatabaseCluster) error {
	if !o.done {
		o.done = true
		other := c.DeepCopy()
		other.Status.Pause = nil
		if err := o.Store.UpdateCluster(ctx, other); err != nil {
			return err
		}
	}
	return o.Store.UpdateCluster(ctx, c)
}
