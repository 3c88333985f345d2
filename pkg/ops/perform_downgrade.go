package ops

import (
	"context"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// descent lets the engine announce a downgrade, or take the announcement back.
// Members are ready for the older version no longer then: it may be announced
// again when resume follows on cancel.
func (l *Live) descent(ctx context.Context, s State, action Action) (Result, error) {
	session, err := l.connect(ctx, s.Cluster)
	if err != nil {
		return Result{}, err
	}
	d, ok := session.(engine.Downgrader)
	switch {
	case !ok:
		return Result{}, engine.ErrReadOnly
	case action == ActionWithdraw:
		if err := d.WithdrawDowngrade(ctx); err != nil {
			return Result{}, err
		}
		return Result{Facts: map[string]string{v1alpha1.FactPrepared: ""}}, nil
	default:
		return Result{}, d.AnnounceDowngrade(ctx, s.Cluster.Spec.Version)
	}
}
