package runner

import (
	"context"
	"errors"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// mayCancel refuses to step back from what has no way back, and says what
// ends it instead.
func (r *Runner) mayCancel(ctx context.Context, op *v1alpha1.Operation) error {
	err := planner.Verbs().Cancellable(op)
	if e, ok := errors.AsType[*ops.Error](err); ok {
		e.Hint += planner.Verbs().OrBack(op, r.recorded(ctx, op))
	}
	return err
}

// recorded is the cluster of an operation; nil where it can't be read.
func (r *Runner) recorded(ctx context.Context, op *v1alpha1.Operation) *v1alpha1.DatabaseCluster {
	c, err := r.Store.GetCluster(ctx, op.Namespace, op.Spec.Cluster)
	if err != nil {
		return nil
	}
	return c
}

// judgeBack refuses to step back an operation whose way back the planner refuses at once. It writes nothing, so the
// operation and what is wanted of the cluster stay as they were. What can't be observed now is not judged: who steps it
// back observes again.
func (r *Runner) judgeBack(ctx context.Context, namespace, cluster string) error {
	p, err := r.PrepareResume(ctx, namespace, cluster, true)
	switch {
	case ops.KindOf(err) == ops.Refused:
		return err
	case p == nil || p.Plan.Blocked == nil || p.Plan.Blocked.Kind != ops.Refused || len(p.Plan.Steps) > 0:
		return nil
	}
	return p.Plan.Blocked
}
