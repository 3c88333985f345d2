package executor

import (
	"context"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// descent lets the engine announce a downgrade, or take the announcement back.
// Members are ready for the older version no longer then: it may be announced
// again when resume follows on cancel.
func (l *Executor) descent(ctx context.Context, s ops.State, action ops.Action) (ops.Result, error) {
	session, err := l.connect(ctx, s.Cluster)
	if err != nil {
		return ops.Result{}, err
	}
	d, ok := session.(engine.Downgrader)
	switch {
	case !ok:
		return ops.Result{}, engine.ErrReadOnly
	case action == ops.ActionWithdraw:
		if err := d.WithdrawDowngrade(ctx); err != nil {
			return ops.Result{}, err
		}
		return ops.Result{Facts: map[string]string{v1alpha1.FactPrepared: ""}}, nil
	default:
		return ops.Result{}, d.AnnounceDowngrade(ctx, s.Cluster.Spec.Version)
	}
}
