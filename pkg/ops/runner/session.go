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

// Session carries out the operation of one cluster one attempt at a time, for a
// driver that has many clusters to manage. It holds the cluster's lease
// from Open to Close. It is what Run does, cut at every attempt: the same
// decisions, journal, deadlines and guards.
type Session struct {
	runner  *Runner
	lease   lease.Lease
	op      *v1alpha1.Operation
	cluster ops.ClosableCluster
	loop    *Loop
}

// Open takes the lease and writes the request down, or, for nil, takes up the
// record in flight as it is. Back, if set, says whether that is to be
// stepped back; it is asked under the lease, when nobody else is writing down
// what they want.
func (r *Runner) Open(ctx context.Context, namespace, cluster string, req *planner.Request,
	back func(*v1alpha1.Operation) (bool, error)) (*Session, error) {
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
	return r.session(op, lease, true), nil
}

// session is the driver of a record under a lease, for the command line, which
// stays until the end, and for a driver of many clusters.
func (r *Runner) session(op *v1alpha1.Operation, held lease.Lease, many bool) *Session {
	s := &Session{runner: r, lease: held, op: op, cluster: r.Cluster(op.Namespace, op.Spec.Cluster)}
	executor.SelectFacts(s.cluster, op.Spec.Verb, true)
	executor.Holding(s.cluster, held)
	s.loop = &Loop{Engine: r.Engine, Cluster: s.cluster, Reporter: r.Reporter, Guard: held.Check, Stop: r.Stop,
		Poll:      r.Poll,
		FailPoint: r.FailPoint, Decide: r.decider(), Many: many}
	return s
}

// takeUp continues the record in flight. One that steps back goes on doing so.
func (r *Runner) takeUp(ctx context.Context, namespace, cluster string, back func(*v1alpha1.Operation) (bool, error),
	lease lease.Lease) (*v1alpha1.Operation, error) {
	op, err := r.Store.ActiveOperation(ctx, namespace, cluster)
	if err != nil {
		return nil, err
	}
	if op == nil {
		return nil, nothingInFlight(cluster)
	}
	cancel := false
	if back != nil {
		if cancel, err = back(op); err != nil {
			return nil, err
		}
	}
	if cancel && op.Status.Phase != v1alpha1.PhaseCancelling {
		if err := r.judgeBack(ctx, namespace, cluster); err != nil {
			return nil, err
		}
	}
	if cancel || op.Status.Phase != v1alpha1.PhaseCancelling {
		if err := r.redirect(ctx, op, cancel); err != nil {
			return nil, err
		}
	}
	return op, r.continueRecord(ctx, op, lease)
}

// Next makes one attempt. After the last one done is true and the record closed;
// otherwise it says when to come back. An error ends the session: its reason
// is in the record.
func (s *Session) Next(ctx context.Context) (done bool, again time.Duration, err error) {
	ctx, cancel := s.holding(ctx)
	defer cancel()
	if done, again, err = s.loop.Next(ctx, s.op); err != nil {
		err = s.runner.giveUp(ctx, s.op, s.lease, err)
	}
	return done, again, err
}

// holding is a context that ends when the lease is lost.
func (s *Session) holding(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-s.lease.Lost():
			cancel(lease.ErrLost)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// Operation is the record that is carried out, and Seen what was observed last.
func (s *Session) Operation() *v1alpha1.Operation { return s.op }

// Seen is the state that the last attempt decided upon.
func (s *Session) Seen() ops.State {
	if s.loop.attempts == nil {
		return ops.State{}
	}
	return s.loop.attempts.seen
}

// Why says what is waited for; "" if nothing is.
func (s *Session) Why() string {
	t := s.loop.attempts
	if t == nil || t.last == "" {
		return ""
	}
	if t.why == "" {
		return t.title
	}
	return t.title + ": " + t.why
}

// Close ends connections and gives the lease back. The record stays as it is.
func (s *Session) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ops.SaveGrace)
	defer cancel()
	return errors.Join(s.cluster.Close(), s.lease.Release(ctx))
}

func giveBack(ctx context.Context, lease lease.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ops.SaveGrace)
	defer cancel()
	_ = lease.Release(ctx) // it expires by itself
}
