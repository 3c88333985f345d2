package ops

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// World is what a loop observes and acts upon: a live cluster, or a simulated one.
type World interface {
	// Observe reads everything; it writes nothing.
	Observe(ctx context.Context) (State, error)
	// Perform does one step that is no wait. It is idempotent, and may be cut
	// off at any line by a crash. engine.ErrNotReady asks for another try.
	Perform(ctx context.Context, s State, step Step, report func(bytes, total int64)) (Result, error)
	// Save persists the operation's status.
	Save(ctx context.Context, op *v1alpha1.Operation) error
	// Changed receives when something may have changed; it may never do so.
	Changed() <-chan struct{}
}

// Result is what a step leaves that can't be observed.
type Result struct {
	Facts map[string]string
}

// Loop observes, plans and acts until nothing is left to do.
type Loop struct {
	Engine   engine.Engine
	World    World
	Reporter Reporter
	// Guard is asked before every irreversible step; an error stops the loop.
	Guard func(context.Context) error
	// Stop, once closed, ends the loop at the next safe point.
	Stop <-chan struct{}
	// Poll is the pause between two observations of a wait that nothing wakes.
	Poll time.Duration
	// Boundary, if set, is called before and after every performed step.
	// Tests die there.
	Boundary func(when string, step Step)
}

// How often an unexpected failure of a step or an observation is tried again
// before it counts, and how long the whole may take.
const (
	attempts       = 6
	outageDeadline = time.Minute
	firstBackoff   = 200 * time.Millisecond
)

// Run repeats turns until the operation is done, blocked, stopped or out of
// time. On success the record says Succeeded (or Cancelled); otherwise it
// stays, with the reason, for whoever continues.
func (l *Loop) Run(ctx context.Context, op *v1alpha1.Operation) error {
	t := &turns{loop: l, op: op}
	for {
		done, err := t.next(ctx)
		if err != nil {
			return l.pause(ctx, op, err)
		}
		if done {
			return l.finish(ctx, op)
		}
	}
}

// turns is the memory of one run: what is being waited for, and since when.
type turns struct {
	loop    *Loop
	op      *v1alpha1.Operation
	waiting string
	why     string
	since   time.Time
	tries   int
	backoff time.Duration
	outage  time.Time
}

// next is one turn: observe, decide, act or wait.
func (t *turns) next(ctx context.Context) (bool, error) {
	if err := t.loop.stopped(ctx); err != nil {
		return false, err
	}
	s, err := t.loop.World.Observe(ctx)
	if err != nil {
		return false, t.unobserved(ctx, err)
	}
	t.outage = time.Time{}
	s.Operation = t.op
	d := Decide(t.loop.Engine, s)
	switch {
	case d.Blocked != nil:
		return false, d.Blocked
	case d.Step == nil:
		return true, nil
	case d.Step.Action == ActionWait:
		return false, t.wait(ctx, *d.Step, d.Why)
	default:
		return false, t.perform(ctx, s, *d.Step)
	}
}

// unobserved rides out an API server that restarts, throttles or fails.
func (t *turns) unobserved(ctx context.Context, err error) error {
	if !transient(err) {
		return err
	}
	if t.outage.IsZero() {
		t.outage, t.backoff = time.Now(), firstBackoff
	}
	if time.Since(t.outage) > outageDeadline {
		return &Error{Kind: Failed, Message: "the cluster could not be observed for " + outageDeadline.String(), Hint: "check the API server, then repeat the command", Err: err}
	}
	t.loop.Reporter.Waiting(Step{ID: "wait/observe", Action: ActionWait, Title: "Wait for the API server"}, err.Error())
	return t.pauseFor(ctx, t.grow())
}

func (t *turns) wait(ctx context.Context, step Step, why string) error {
	if t.waiting != step.ID {
		t.waiting, t.why, t.since, t.backoff = step.ID, "", time.Now(), t.loop.Poll
	}
	if t.why != why {
		t.why = why
		t.loop.Reporter.Waiting(step, why)
	}
	if time.Since(t.since) > step.Deadline {
		return &Error{Kind: NeedsHuman, Check: "deadline",
			Message: fmt.Sprintf("waited %s for: %s; still: %s", step.Deadline, step.Title, why),
			Hint:    "kubectl dbop status shows what each member says; the same command continues"}
	}
	return t.pauseFor(ctx, t.loop.Poll)
}

// perform journals the step, does it and journals the result.
func (t *turns) perform(ctx context.Context, s State, step Step) error {
	if t.waiting != step.ID {
		t.waiting, t.why, t.since, t.tries, t.backoff = step.ID, "", time.Now(), 0, firstBackoff
		begin(t.op, step, s.Now)
		if err := t.loop.World.Save(ctx, t.op); err != nil {
			return fmt.Errorf("write down step %s before it begins: %w", step.ID, err)
		}
		t.loop.Reporter.Started(step)
	}
	if step.Irreversible() && t.loop.Guard != nil {
		if err := t.loop.Guard(ctx); err != nil {
			return fmt.Errorf("check the lease before %q: %w", step.Title, err)
		}
	}
	t.loop.boundary("before", step)
	result, err := t.act(ctx, s, step)
	t.loop.boundary("after", step)
	if err != nil {
		return t.failed(ctx, step, err)
	}
	end(t.op, step, s.Now.Add(time.Since(t.since)), nil)
	for k, v := range result.Facts {
		setFact(t.op, k, v)
	}
	if len(result.Facts) > 0 {
		if err := t.loop.World.Save(ctx, t.op); err != nil {
			return fmt.Errorf("write down the result of step %s: %w", step.ID, err)
		}
	}
	t.loop.Reporter.Done(step, time.Since(t.since), nil)
	t.waiting = ""
	return nil
}

// act bounds the step by its deadline; a stream also ends when the person asks to stop.
func (t *turns) act(ctx context.Context, s State, step Step) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, step.Deadline)
	defer cancel()
	if step.streams() {
		go func() {
			select {
			case <-t.loop.Stop:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	return t.loop.World.Perform(ctx, s, step, func(n, total int64) { t.loop.Reporter.Progress(step, n, total) })
}

// failed decides whether a failed step is tried again.
func (t *turns) failed(ctx context.Context, step Step, err error) error {
	if stop := t.loop.stopped(ctx); stop != nil {
		return stop
	}
	again := errors.Is(err, engine.ErrNotReady)
	if !again && transient(err) {
		t.tries++
		again = t.tries < attempts
	}
	if again && time.Since(t.since) < step.Deadline {
		if t.why != err.Error() {
			t.why = err.Error()
			t.loop.Reporter.Waiting(step, t.why)
		}
		return t.pauseFor(ctx, t.grow())
	}
	end(t.op, step, t.op.Status.StartedAt.Add(time.Since(t.since)), err)
	t.loop.Reporter.Done(step, time.Since(t.since), err)
	return fmt.Errorf("%s: %w", step.Title, err)
}

// grow returns the present pause and doubles the next, up to a second.
func (t *turns) grow() time.Duration {
	d := max(t.backoff, firstBackoff)
	t.backoff = min(2*d, time.Second)
	return d
}

// pauseFor ends early when something changed or the person asks to stop.
func (t *turns) pauseFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.loop.World.Changed():
	case <-t.loop.Stop:
	case <-ctx.Done():
	}
	return nil
}

// stopped says why the loop may not begin another turn.
func (l *Loop) stopped(ctx context.Context) error {
	select {
	case <-l.Stop:
		return &Error{Kind: Interrupted, Message: "stopped at a safe point", Hint: "the same command continues where it stopped"}
	default:
	}
	switch {
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return &Error{Kind: TimedOut, Message: "the time allowed by --timeout is over", Hint: "the same command continues where it stopped"}
	case ctx.Err() != nil:
		return &Error{Kind: Interrupted, Message: "interrupted", Hint: "the same command continues where it stopped", Err: context.Cause(ctx)}
	}
	return nil
}

func (l *Loop) boundary(when string, step Step) {
	if l.Boundary != nil {
		l.Boundary(when, step)
	}
}
