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
// driver that has many clusters to manage. It holds a lease of the cluster
// from Open to Close. It is what Run does, cut at every attempt: the same
// decisions, journal, deadlines and guards.
type Session struct {
	runner  *Runner
	lease   lease.Lease
	op      *v1alpha1.Operation
	cluster ops.ClosableCluster
	loop    *Loop
}

// Open takes the lease and writes the request down, or, for nil, takes up the record in flight as it is: the ordinary
// one if there is one, else the backup. Back, if set, says whether that is to be stepped back; it is asked under the
// lease, when nobody else is writing down what they want.
func (r *Runner) Open(ctx context.Context, namespace, cluster string, req *planner.Request,
	back func(*v1alpha1.Operation) (bool, error)) (*Session, error) {
	if req != nil {
		op, held, err := r.start(ctx, namespace, *req)
		if err != nil {
			return nil, err
		}
		return r.session(op, held, true), nil
	}
	op, held, err := r.lockFlight(ctx, namespace, cluster, false)
	if err != nil {
		return nil, err
	}
	if err = r.takeUp(ctx, namespace, cluster, op, back, held); err != nil {
		giveBack(ctx, held)
		return nil, err
	}
	return r.session(op, held, true), nil
}

// session is the driver of a record under a lease, for the command line, which
// stays until the end, and for a driver of many clusters.
func (r *Runner) session(op *v1alpha1.Operation, held lease.Lease, many bool) *Session {
	s := &Session{runner: r, lease: held, op: op, cluster: r.Cluster(op.Namespace, op.Spec.Cluster)}
	executor.SelectFacts(s.cluster, op.Spec.Verb, true)
	executor.Holding(s.cluster, held)
	s.loop = &Loop{Engine: r.Engine, Cluster: s.cluster, Reporter: r.Reporter, Guard: s.guard, Stop: r.Stop,
		Poll:      r.Poll,
		FailPoint: r.FailPoint, Decide: r.decider(), Many: many}
	return s
}

// takeUp continues the record in flight. One that steps back goes on doing so.
func (r *Runner) takeUp(ctx context.Context, namespace, cluster string, op *v1alpha1.Operation,
	back func(*v1alpha1.Operation) (bool, error), held lease.Lease) error {
	if op == nil {
		return nothingInFlight(cluster)
	}
	cancel := false
	if back != nil {
		var err error
		if cancel, err = back(op); err != nil {
			return err
		}
	}
	if cancel && op.Status.Phase != v1alpha1.PhaseCancelling {
		if err := r.judgeBack(ctx, namespace, cluster); err != nil {
			return err
		}
	}
	if cancel || op.Status.Phase != v1alpha1.PhaseCancelling {
		if err := r.redirect(ctx, op, cancel); err != nil {
			return err
		}
	}
	return r.continueRecord(ctx, op, held)
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

// holding is a context that ends when the lease is lost, or the record is not ours any more.
func (s *Session) holding(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	if s.rewritable() {
		go s.watchRecord(ctx, s.op.Status.Phase, cancel)
	}
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
