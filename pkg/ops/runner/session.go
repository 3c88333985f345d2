package runner

import (
	"context"
	"errors"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/executor"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// Session carries out the operation of one cluster one turn at a time, for a
// driver that has many clusters to look after. It holds the cluster's lease
// from Open to Close. It is what Run does, cut at every turn: the same
// decisions, journal, deadlines and guards.
type Session struct {
	runner   *Runner
	lease    lease.Lease
	op       *v1alpha1.Operation
	world    ops.ClosableCluster
	attempts *attempts
	rest     time.Duration
}

// Open takes the lease and writes the request down, or, for nil, takes up the
// record in flight as it stands. Back, if set, says whether that is to be
// stepped back; it is asked under the lease, when nobody else is writing down
// what they want.
func (r *Runner) Open(ctx context.Context, namespace, cluster string, req *planner.Request, back func(*v1alpha1.Operation) (bool, error)) (*Session, error) {
	lease, err := r.Lock(ctx, namespace, cluster, func(string, time.Duration) {})
	if err != nil {
		return nil, busy(err)
	}
	var op *v1alpha1.Operation
	if req != nil {
		op, err = r.begin(ctx, namespace, *req, lease)
	} else {
		op, err = r.takeUp(ctx, namespace, cluster, back, lease)
	}
	if err != nil {
		giveBack(ctx, lease)
		return nil, err
	}
	s := &Session{runner: r, lease: lease, op: op, world: r.Cluster(namespace, cluster)}
	executor.Attend(s.world, op.Spec.Verb, true)
	executor.Holding(s.world, lease)
	loop := &Loop{Engine: r.Engine, Cluster: s.world, Reporter: r.Reporter, Guard: lease.Check, Stop: r.Stop, Poll: r.Poll, FailPoint: r.FailPoint,
		Decide: r.decider(), Rest: func(d time.Duration) { s.rest = d }}
	s.attempts = &attempts{loop: loop, op: op, attempts: map[string]*attempt{}}
	return s, nil
}

// begin writes a request down. One that asks for nothing the members lack, an
// option given its own default for example, is what the cluster wants from then on.
func (r *Runner) begin(ctx context.Context, namespace string, req planner.Request, lease lease.Lease) (*v1alpha1.Operation, error) {
	if err := r.writeLost(ctx, namespace, req); err != nil {
		return nil, err
	}
	p, err := r.Prepare(ctx, namespace, req)
	if err != nil {
		return nil, err
	}
	op, err := r.accept(ctx, namespace, p, lease)
	if err == nil || ops.KindOf(err) != ops.Unchanged || p.Request.Cluster != nil {
		return op, err
	}
	agreed := ops.Retry(ctx, func() error {
		c, err := r.Store.GetCluster(ctx, namespace, req.Operation.Cluster)
		if err != nil || !planner.ApplyTo(c, p.Record(namespace)) {
			return err
		}
		return r.Store.UpdateCluster(ctx, c)
	})
	return nil, errors.Join(err, agreed)
}

// takeUp continues the record in flight. One that steps back goes on doing so.
func (r *Runner) takeUp(ctx context.Context, namespace, cluster string, back func(*v1alpha1.Operation) (bool, error), lease lease.Lease) (*v1alpha1.Operation, error) {
	op, err := r.Store.ActiveOperation(ctx, namespace, cluster)
	if err != nil {
		return nil, err
	}
	if op == nil {
		return nil, &ops.Error{Kind: ops.Unchanged, Message: "no operation of " + cluster + " is in flight"}
	}
	turned := false
	if back != nil {
		if turned, err = back(op); err != nil {
			return nil, err
		}
	}
	switch {
	case turned:
		if err := r.mayCancel(ctx, op); err != nil {
			return nil, err
		}
		op.Status.Phase = v1alpha1.PhaseCancelling
	case op.Status.Phase != v1alpha1.PhaseCancelling:
		op.Status.Phase = v1alpha1.PhaseRunning
	}
	return op, r.continueRecord(ctx, op, lease)
}

// Next takes one turn. After the last one done is true and the record closed;
// otherwise it says when to come back. An error ends the session: its reason
// is in the record.
func (s *Session) Next(ctx context.Context) (done bool, again time.Duration, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-s.lease.Lost():
			cancel(lease.ErrLost)
		case <-ctx.Done():
		}
	}()
	s.rest = 0
	done, err = s.attempts.next(ctx)
	switch {
	case err != nil:
		return false, 0, s.runner.giveUp(ctx, s.op, s.lease, s.attempts.loop.pause(ctx, s.op, err))
	case done:
		return true, 0, s.attempts.loop.finish(ctx, s.op)
	}
	return false, s.rest, nil
}

// Operation is the record that is carried out, and Seen what was observed last.
func (s *Session) Operation() *v1alpha1.Operation { return s.op }

// Seen is the state that the last turn decided upon.
func (s *Session) Seen() ops.State { return s.attempts.seen }

// Why says what is waited for; "" if nothing is.
func (s *Session) Why() string {
	if s.attempts.last == "" {
		return ""
	}
	if s.attempts.why == "" {
		return s.attempts.title
	}
	return s.attempts.title + ": " + s.attempts.why
}

// Close ends connections and gives the lease back. The record stays as it is.
func (s *Session) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ops.SaveGrace)
	defer cancel()
	return errors.Join(s.world.Close(), s.lease.Release(ctx))
}

func giveBack(ctx context.Context, lease lease.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ops.SaveGrace)
	defer cancel()
	_ = lease.Release(ctx) // it expires by itself
}
