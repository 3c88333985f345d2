package executor

import (
	"context"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// register writes down what the member is to be, and that a predecessor's
// removal is over, before the database hears of it.
func (l *Executor) register(ctx context.Context, session engine.Session, t task) (ops.Result, error) {
	err := l.note(ctx, func(f *v1alpha1.Bootstrap) bool {
		removed, other := f.Remove(t.Member(), false), f.SetWitness(t.Member(), t.Witness)
		return removed || other
	})
	if err != nil {
		return ops.Result{}, err
	}
	if !t.Witness {
		return ops.Result{}, session.Register(ctx, t.Member())
	}
	w, ok := session.(engine.WitnessRegistrar)
	if !ok {
		return ops.Result{}, fmt.Errorf("register witness %s: %s knows no witnesses", t.Member(), l.Engine.Name())
	}
	return ops.Result{}, w.RegisterWitness(ctx, t.Member())
}

func promote(ctx context.Context, session engine.Session, t task) (ops.Result, error) {
	return ops.Result{}, session.Promote(ctx, t.Member())
}

// deregister takes a member out of the member list by its identity: a successor of that name may be in the list by now.
func (l *Executor) deregister(ctx context.Context, session engine.Session, t task) (ops.Result, error) {
	entry, registered := t.View.Registered(t.Member())
	if !registered {
		return ops.Result{}, nil
	}
	if err := l.note(ctx, func(f *v1alpha1.Bootstrap) bool { return f.Remove(entry.Name, true) }); err != nil {
		return ops.Result{}, err
	}
	return ops.Result{}, session.Deregister(ctx, entry.Name, entry.ID)
}

// keep forgets that the removal of a member was started.
func (l *Executor) keep(ctx context.Context, t task) error {
	return l.note(ctx, func(f *v1alpha1.Bootstrap) bool { return f.Remove(t.Member(), false) })
}

func handOver(ctx context.Context, session engine.Session, t task) (ops.Result, error) {
	return ops.Result{}, session.HandOver(ctx, t.To)
}

// failOver has a member lead that the members don't choose.
func (l *Executor) failOver(ctx context.Context, session engine.Session, t task) (ops.Result, error) {
	f, ok := session.(engine.Failoverer)
	if !ok {
		return ops.Result{}, fmt.Errorf("%s can't have a member lead that its members don't choose: %w", l.Engine.Name(),
			engine.ErrRefused)
	}
	return ops.Result{}, f.Failover(ctx, t.To)
}
