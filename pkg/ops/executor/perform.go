package executor

import (
	"context"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// Perform implements World. Under a dry run the client and the session refuse or rehearse what would change; only what
// moves data is refused here, because repositories know no dry run.
func (l *Executor) Perform(ctx context.Context, s ops.State, step ops.Step,
	report func(bytes, total int64)) (ops.Result, error) {
	if l.ReadOnly && (step.Streams() || step.Action == ops.ActionPrune) {
		return ops.Result{}, engine.ErrReadOnly
	}
	perform, ok := l.performers()[step.Action]
	if !ok {
		return ops.Result{}, fmt.Errorf("no way to perform %q", step.Action)
	}
	return perform(ctx, task{State: s, Step: step, report: report})
}

// change writes to the cluster's object what the closure sets, on a fresh copy.
func (l *Executor) change(ctx context.Context, set func(*v1alpha1.DatabaseCluster)) error {
	c, err := l.Store.GetCluster(ctx, l.Namespace, l.Name)
	if err != nil {
		return err
	}
	set(c)
	return l.Store.UpdateCluster(ctx, c)
}

// note writes what the closure changes into what is recorded of the members.
func (l *Executor) note(ctx context.Context, set func(*v1alpha1.Bootstrap) bool) error {
	c, err := l.Store.GetCluster(ctx, l.Namespace, l.Name)
	if err != nil {
		return err
	}
	if !set(c.Status.Bootstrap) {
		return nil
	}
	if err := l.Store.UpdateCluster(ctx, c); err != nil {
		return fmt.Errorf("write down in the record of cluster %s/%s what was done: %w", l.Namespace, l.Name, err)
	}
	return nil
}

// notGone is the answer while something that was told to go is still there.
func notGone(what string) error { return fmt.Errorf("%s is still going: %w", what, engine.ErrNotReady) }
