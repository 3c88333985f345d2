package executor

import (
	"context"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// prepare lets the engine make its members ready for the wanted version, where it can.
func prepare(ctx context.Context, session engine.Session, t task) (ops.Result, error) {
	target := t.Cluster.Spec.Version
	if p, ok := session.(engine.Preparer); ok {
		if err := p.PrepareUpgrade(ctx, t.Members, target); err != nil {
			return ops.Result{}, err
		}
	}
	return fact(v1alpha1.FactPrepared, target)
}

// changeVersion restarts a member with the wanted version.
func (l *Executor) changeVersion(ctx context.Context, t task) error {
	return l.renew(ctx, t.State, t.Member(),
		func(p observe.Pod) bool { return p.Version == t.Cluster.Spec.Version })
}

// announce lets the engine announce a downgrade.
func announce(ctx context.Context, session engine.Downgrader, t task) (ops.Result, error) {
	return ops.Result{}, session.AnnounceDowngrade(ctx, t.Cluster.Spec.Version)
}

// withdraw takes the announcement back. Members are ready for the older version no longer then: it may be announced
// again when resume follows on cancel.
func withdraw(ctx context.Context, session engine.Downgrader, _ task) (ops.Result, error) {
	if err := session.WithdrawDowngrade(ctx); err != nil {
		return ops.Result{}, err
	}
	return fact(v1alpha1.FactPrepared, "")
}
