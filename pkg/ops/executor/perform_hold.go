package executor

import (
	"context"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// hold keeps other members from leading, or lets them again.
func (l *Executor) hold(ctx context.Context, session engine.Session, t task) (ops.Result, error) {
	h, ok := session.(engine.Holder)
	if !ok {
		return ops.Result{}, fmt.Errorf("nobody keeps a member of %s from leading: %w", l.Engine.Name(), engine.ErrRefused)
	}
	o := t.Operation.Spec
	done := ops.Result{Facts: map[string]string{v1alpha1.FactHeld: "true"}}
	if o.HoldEnd {
		return done, h.EndHold(ctx)
	}
	return done, h.Hold(ctx, engine.Hold{For: o.HoldFor.Duration, Why: o.HoldWhy,
		By: o.RequestedBy + " at " + t.Now.UTC().Format(time.RFC3339)})
}
