package runner

import (
	"context"
	"errors"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// Loop observes, plans and acts until nothing is left to do.
type Loop struct {
	Engine   engine.Engine
	Cluster  ops.Cluster
	Reporter ops.Reporter
	// Guard is asked before every step; an error stops the loop.
	Guard func(context.Context) error
	// Stop, once closed, ends the loop at the next safe point.
	Stop <-chan struct{}
	// Poll is the pause between two observations of a wait that nothing wakes.
	Poll time.Duration
	// FailPoint, if set, is called before and after every performed step, and
	// within one after every try that did not end it. Tests die there.
	FailPoint func(when string, step ops.Step)
	// Decide makes the decisions; nil for the planner's own. Tests wrap it.
	Decide func(engine.Engine, ops.State) ops.Decision
	// Many is set by a driver of many clusters, which observes less often.
	Many bool

	attempts *attempts
}

// A driver of many clusters observes what is waited for after every quarter of
// the time that it took so far, but after maxPoll at the latest: what
// Kubernetes knows wakes it anyway, and the longer members keep to themselves
// what only they know, the less does a moment more count.
const (
	patientPart = 4
	maxPoll     = 2 * time.Second
)

// poll is how long to pause in a wait that has gone on for so long.
func (l *Loop) poll(waited time.Duration) time.Duration {
	if !l.Many {
		return l.Poll
	}
	return max(l.Poll, min(waited/patientPart, maxPoll))
}

// Next observes once, and makes one attempt at what is left to do. After the last
// one done is true, and the record says Succeeded (or Cancelled). Otherwise rest
// is how long to pause. On an error the record stays, with the reason, for who
// continues: it was blocked, stopped, or is out of time.
func (l *Loop) Next(ctx context.Context, op *v1alpha1.Operation) (done bool, rest time.Duration, err error) {
	if l.attempts == nil {
		l.attempts = &attempts{loop: l, op: op, attempts: map[string]*attempt{}}
	}
	done, rest, err = l.attempts.next(ctx)
	switch {
	case err != nil:
		return false, 0, l.pause(ctx, op, err)
	case done:
		return true, 0, l.finish(ctx, op)
	}
	return false, rest, nil
}

// Run repeats Next until the operation is done or an error ends it.
func (l *Loop) Run(ctx context.Context, op *v1alpha1.Operation) error {
	for {
		done, rest, err := l.Next(ctx, op)
		if done || err != nil {
			return err
		}
		l.sleep(ctx, rest)
	}
}

// sleep ends early when something changed or the person asks to stop.
func (l *Loop) sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.Cluster.Changed():
	case <-l.Stop:
	case <-ctx.Done():
	}
}

// stopped says why the loop may not make another attempt.
func (l *Loop) stopped(ctx context.Context) error {
	select {
	case <-l.Stop:
		return &ops.Error{Kind: ops.Interrupted, Message: "stopped at a safe point",
			Hint: "the same command continues where it stopped"}
	default:
	}
	switch {
	case errors.Is(context.Cause(ctx), lease.ErrLost):
		return leaseLost(context.Cause(ctx))
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return ops.OutOfTime(nil, "the same command continues where it stopped")
	case ctx.Err() != nil:
		return &ops.Error{Kind: ops.Interrupted, Message: "interrupted",
			Hint: "the same command continues where it stopped",
			Err:  context.Cause(ctx)}
	}
	return nil
}

// leaseLost is the end of a process that stood still, or did not reach the API
// server, for so long that another may act.
func leaseLost(err error) *ops.Error {
	if errors.Is(err, ErrRewritten) {
		return &ops.Error{Kind: ops.Failed, Check: "record", Message: "stopped before the next step", Err: err,
			Hint: "kubectl dbop status shows what goes on"}
	}
	return &ops.Error{Kind: ops.Failed, Check: "lease", Message: "stopped before the next step", Err: err,
		Hint: "another process may have taken over: kubectl dbop status shows what goes on; otherwise the same command " +
			"continues"}
}

func (l *Loop) decide(s ops.State) ops.Decision {
	if l.Decide != nil {
		return l.Decide(l.Engine, s)
	}
	return planner.Decide(l.Engine, s)
}

func (l *Loop) failPoint(when string, step ops.Step) {
	if l.FailPoint != nil {
		l.FailPoint(when, step)
	}
}
