package runner

import (
	"context"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// onceOnly keeps a second backup from being taken for one object: a process that found
// that none was started may have stood still since. It is asked under the lease.
func (r *Runner) onceOnly(ctx context.Context, namespace string, o v1alpha1.OperationSpec) error {
	if o.Object == "" {
		return nil
	}
	records, err := r.Store.ListOperations(ctx, namespace, o.Cluster)
	if err != nil {
		return err
	}
	for _, op := range records {
		if op.Spec.Object == o.Object {
			return &ops.Error{Kind: ops.Unchanged, Message: "operation " + op.Name + " is that backup already"}
		}
	}
	return nil
}
