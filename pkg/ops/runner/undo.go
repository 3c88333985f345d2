package runner

import (
	"context"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// stillLast refuses to take back what is not the last change any more: another
// may have come between the observation that a person agreed to and the lease.
func (r *Runner) stillLast(ctx context.Context, namespace string, o v1alpha1.OperationSpec,
	c *v1alpha1.DatabaseCluster) error {
	if o.Undoes == "" {
		return nil
	}
	records, err := r.Store.ListOperations(ctx, namespace, o.Cluster)
	if err != nil {
		return err
	}
	u, err := planner.Undo(c, records)
	if err != nil {
		return err
	}
	if u.Of == nil || u.Of.Name != o.Undoes {
		return rules.NoUndo(c.Name, fmt.Sprintf("%s was changed by somebody else since %s", c.Name, o.Undoes), "")
	}
	return nil
}
