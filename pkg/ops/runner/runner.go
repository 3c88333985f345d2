package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// Runner carries requests from the first observation to the last step. Both drivers
// use it: the command line prepares, shows, asks and runs; the reconciler
// continues what is written down.
type Runner struct {
	Engine engine.Engine
	Store  store.Store
	// Cluster makes the world of one cluster; Close of the returned one is the caller's.
	Cluster func(namespace, cluster string) ops.ClosableCluster
	// Lock takes a lease of the cluster.
	Lock func(ctx context.Context, namespace, cluster string, scope lease.Scope,
		waiting func(holder string, left time.Duration)) (lease.Lease, error)
	// Held says who takes a backup of the cluster, for what is only shown; nil for nobody.
	Held      func(ctx context.Context, namespace, cluster string) (lease.Holding, error)
	Reporter  ops.Reporter
	Stop      <-chan struct{}
	FailPoint func(when string, step ops.Step)
	Poll      time.Duration
	// Decide, see Loop.
	Decide func(engine.Engine, ops.State) ops.Decision
}

func (r *Runner) decider() func(engine.Engine, ops.State) ops.Decision {
	if r.Decide != nil {
		return r.Decide
	}
	return planner.Decide
}

// Run takes the lease, observes again, writes the request down and carries it
// out. What Prepare saw is only a promise: the plan that counts is made under
// the lease. It returns the record as it ended.
func (r *Runner) Run(ctx context.Context, namespace string, req planner.Request) (*v1alpha1.Operation, error) {
	op, held, err := r.start(ctx, namespace, req)
	if err != nil {
		return nil, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ops.SaveGrace)
		defer cancel()
		if err := held.Release(ctx); err != nil {
			r.Reporter.Note("the lease could not be given back: " + err.Error())
		}
	}()
	asked := op.Status.Phase
	if err := r.loop(ctx, op, &held); err != nil {
		return op, err
	}
	if op.Status.Phase == v1alpha1.PhaseCancelled && asked != v1alpha1.PhaseCancelling {
		return op, steppedBack(op)
	}
	return op, nil
}

// Resume continues the record in flight, or steps it back, and lifts a pause.
// The record is nil if there was only a pause.
func (r *Runner) Resume(ctx context.Context, namespace, cluster string, cancel bool) (*v1alpha1.Operation, error) {
	op, held, err := r.lockFlight(ctx, namespace, cluster, cancel)
	if err != nil {
		return nil, err
	}
	defer func() { _ = held.Release(context.WithoutCancel(ctx)) }()
	if cancel {
		if err := r.judgeBack(ctx, namespace, cluster); err != nil {
			return nil, err
		}
	}
	lifted, err := SetPaused(ctx, r.Store, namespace, cluster, nil)
	if err != nil && !errors.Is(err, kube.ErrNotFound) {
		return nil, err
	}
	if op == nil && lifted {
		return nil, nil
	}
	if op == nil {
		return nil, nothingInFlight(cluster)
	}
	if err := r.redirect(ctx, op, cancel); err != nil {
		return nil, err
	}
	if err := r.continueRecord(ctx, op, held); err != nil {
		return nil, err
	}
	return op, r.loop(ctx, op, &held)
}

func nothingInFlight(cluster string) error {
	return &ops.Error{Kind: ops.Unchanged, Message: "no operation of " + cluster + " is in flight"}
}

// redirect has a record go on, or back.
func (r *Runner) redirect(ctx context.Context, op *v1alpha1.Operation, cancel bool) error {
	op.Status.Phase = v1alpha1.PhaseRunning
	if !cancel {
		return nil
	}
	op.Status.Phase = v1alpha1.PhaseCancelling
	return r.mayCancel(ctx, op)
}

// loop carries out a record under a lease. One that was lost while nobody else
// could have it, because the API server was away or this machine asleep, is
// taken back, and the record goes on from what is observed.
func (r *Runner) loop(ctx context.Context, op *v1alpha1.Operation, held *lease.Lease) error {
	for {
		lost := r.under(ctx, op, *held)
		if lost == nil {
			return nil
		}
		if !errors.Is(lost, lease.ErrLost) || ctx.Err() != nil {
			return r.giveUp(ctx, op, *held, lost)
		}
		if ops.Retry(ctx, func() error { return r.regain(ctx, op, held) }, lease.ErrLost) != nil {
			return lost
		}
		switch {
		case errors.Is(lost, ErrRewritten) && op.Status.Phase == v1alpha1.PhaseCancelled:
			return steppedBack(op)
		case errors.Is(lost, ErrRewritten):
			r.Reporter.Note(fmt.Sprintf("somebody asked for something else of operation %s; going on with that", op.Name))
		default:
			r.Reporter.Note("the lease was lost for want of an answer; nobody took it, going on")
		}
	}
}

// regain takes the lease and the record up again.
func (r *Runner) regain(ctx context.Context, op *v1alpha1.Operation, lease *lease.Lease) error {
	again, err := (*lease).Regain(ctx)
	if err != nil {
		return err
	}
	*lease = again
	stored, err := r.Store.GetOperation(ctx, op.Namespace, op.Name)
	if err != nil {
		return err
	}
	*op = *stored
	return nil
}

// under carries out a record while the lease is ours.
func (r *Runner) under(ctx context.Context, op *v1alpha1.Operation, held lease.Lease) error {
	s := r.session(op, held, false)
	defer closeQuietly(s.cluster)
	ctx, cancel := s.holding(ctx)
	defer cancel()
	return s.loop.Run(ctx, op)
}

// busy names the holder of a lease that is alive.
func busy(err error) error {
	if held, ok := errors.AsType[*lease.HeldError](err); ok {
		hint := "wait for it to end, or stop that process; then repeat the command"
		if held.Scope == lease.Backup {
			hint = fmt.Sprintf("wait for it to end, or stop it: kubectl dbop cancel %s; then repeat the command", held.Cluster)
		}
		return &ops.Error{Kind: ops.Busy, Check: "lease", Message: held.Error(), Hint: hint, Err: lease.ErrHeld}
	}
	return err
}

func closeQuietly(w ops.ClosableCluster) { _ = w.Close() }
