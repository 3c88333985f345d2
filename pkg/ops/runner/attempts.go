package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// attempts is the memory of one run: what is being waited for or tried, since
// when, and how often.
type attempts struct {
	loop     *Loop
	op       *v1alpha1.Operation
	attempts map[string]*attempt
	// last is the identifier of the last wait or step, title its words for
	// people, why its last reason.
	last, title, why string
	backoff          time.Duration
	outage           time.Time
	// open is the step in the works, written down and not known to be done;
	// nil for none. performed is set once it was carried out and its effect is awaited.
	open      *ops.Step
	performed bool
	problems  planner.Onsets
	// seen is what was observed last.
	seen ops.State
}

// attempt is how long one wait or step has been going on since the last step
// that got done. It outlives a change of mind, so two waits that alternate
// come to an end too.
type attempt struct {
	since time.Time
	tries int
}

// next observes, decides, and acts or says how long to wait.
func (t *attempts) next(ctx context.Context) (done bool, rest time.Duration, err error) {
	if stop := t.loop.stopped(ctx); stop != nil {
		return false, 0, t.meanwhile(stop)
	}
	s, err := t.loop.Cluster.Observe(ctx)
	if err != nil {
		rest, err = t.unobserved(ctx, err)
		return false, rest, err
	}
	t.outage = time.Time{}
	s.Operation = t.op
	t.problems.Date(&s)
	t.seen = s
	d := t.loop.decide(s)
	if t.over(d) {
		t.close(s.Now, nil)
	}
	switch {
	case d.Blocked != nil:
		return false, 0, d.Blocked
	case d.Step == nil:
		return true, 0, nil
	case d.Step.Action == ops.ActionWait:
		rest, err = t.wait(*d.Step, d.Why)
	default:
		rest, err = t.perform(ctx, s, *d.Step)
	}
	return false, rest, err
}

// unobserved rides out an API server that restarts, throttles or fails.
func (t *attempts) unobserved(ctx context.Context, err error) (time.Duration, error) {
	if stop := t.loop.stopped(ctx); stop != nil {
		return 0, t.meanwhile(stop)
	}
	if !ops.Transient(err) {
		return 0, err
	}
	if t.outage.IsZero() {
		t.outage, t.backoff = time.Now(), ops.FirstBackoff
	}
	if time.Since(t.outage) > ops.OutageDeadline {
		return 0, &ops.Error{Kind: ops.Failed, Message: "the cluster could not be observed for " +
			ops.OutageDeadline.String(), Hint: "check the API server, then repeat the command", Err: err}
	}
	t.loop.Reporter.Waiting(ops.Step{ID: "wait/observe", Action: ops.ActionWait, Title: "Wait for the API server"},
		err.Error())
	return t.grow(), nil
}

// meanwhile adds to the end of the time allowed what took it so long.
func (t *attempts) meanwhile(stop error) error {
	e, ok := errors.AsType[*ops.Error](stop)
	if !ok || e.Kind != ops.TimedOut || t.last == "" {
		return stop
	}
	told := *e
	if c := t.seen.Cluster; c != nil && ops.Unformed(c) && !c.Managed() && planner.Verbs().Bootstraps(t.op) {
		told.Hint += "; with other options, memory, CPU or image it corrects them first"
	}
	told.Message += ", at: " + t.title
	if t.why != "" {
		told.Message += ": " + t.why
	}
	return &told
}

// attempt returns the memory of a wait or step, started now if there is none.
func (t *attempts) attempt(step ops.Step) *attempt {
	if t.last != step.ID {
		t.last, t.title, t.why, t.backoff = step.ID, step.Title, "", ops.FirstBackoff
	}
	e := t.attempts[step.ID]
	if e == nil {
		e = &attempt{since: time.Now()}
		t.attempts[step.ID] = e
	}
	return e
}

// waiting tells the person of a new reason.
func (t *attempts) waiting(step ops.Step, why string) {
	if t.why != why {
		t.why = why
		t.loop.Reporter.Waiting(step, why)
	}
}

func (t *attempts) wait(step ops.Step, why string) (time.Duration, error) {
	e := t.attempt(step)
	t.waiting(step, why)
	if time.Since(e.since) > step.Deadline {
		return 0, &ops.Error{Kind: ops.NeedsHuman, Check: "deadline",
			Message: fmt.Sprintf("waited %s for: %s; still: %s", step.Deadline, step.Title, why),
			Hint:    "kubectl dbop status shows what each member says; the same command continues"}
	}
	return t.loop.poll(time.Since(e.since)), nil
}

// perform journals the step and does it.
func (t *attempts) perform(ctx context.Context, s ops.State, step ops.Step) (time.Duration, error) {
	e := t.attempt(step)
	if t.performed {
		return t.unseen(step, e)
	}
	asks := noteSource(t.op, step)
	if t.open == nil {
		begin(t.op, step, s.Now)
	}
	if t.open == nil || asks {
		if err := t.loop.save(ctx, t.op); err != nil {
			return 0, fmt.Errorf("write down step %s before it begins: %w", step.ID, err)
		}
	}
	if t.open == nil {
		t.open = &step
		t.loop.Reporter.Started(step)
	}
	if t.loop.Guard != nil {
		// A process can stop for longer than its lease, at any line.
		if err := t.loop.Guard(ctx); errors.Is(err, lease.ErrLost) {
			return 0, leaseLost(err)
		} else if err != nil {
			return t.failed(ctx, s.Now, step, fmt.Errorf("check the lease before %q: %w", step.Title, err))
		}
	}
	t.loop.failPoint("before", step)
	result, err := t.act(ctx, s, step)
	if err != nil {
		t.loop.failPoint("within", step)
		return t.failed(ctx, s.Now, step, err)
	}
	t.loop.failPoint("after", step)
	t.performed = true
	for k, v := range result.Facts {
		ops.SetFact(t.op, k, v)
	}
	if len(result.Facts) > 0 {
		if err := t.loop.save(ctx, t.op); err != nil {
			return 0, fmt.Errorf("write down the result of step %s: %w", step.ID, err)
		}
	}
	return 0, nil
}

// over reports whether the step in the works is done: it was carried out, or
// all it does is to let things go, and the planner does not ask for it any
// more. One that was not carried out yet stays in the works over a wait.
func (t *attempts) over(d ops.Decision) bool {
	switch {
	case t.open == nil, d.Step != nil && d.Step.ID == t.open.ID:
		return false
	case t.performed:
		return true
	case d.Blocked != nil:
		return false
	default:
		return t.open.Lets() || d.Step == nil || d.Step.Action != ops.ActionWait
	}
}

// close ends the step in the works.
func (t *attempts) close(now time.Time, err error) {
	since := t.attempts[t.open.ID].since
	end(t.op, *t.open, now, err)
	t.loop.Reporter.Done(*t.open, time.Since(since), err)
	t.open, t.performed, t.last = nil, false, ""
	if err == nil {
		clear(t.attempts)
	}
}

// unseen waits for the effect of a step that was carried out, and has it
// carried out once more now and then: the effect may have been undone.
func (t *attempts) unseen(step ops.Step, e *attempt) (time.Duration, error) {
	if time.Since(e.since) > step.Deadline {
		return 0, &ops.Error{Kind: ops.NeedsHuman, Check: "deadline",
			Message: fmt.Sprintf("%s: done, but nothing came of it for %s", step.Title, step.Deadline),
			Hint:    "kubectl dbop status shows what each member says; the same command continues"}
	}
	t.performed = t.backoff < time.Second
	return t.grow(), nil
}

// act bounds the step by its deadline; a stream also ends when the person asks to stop.
func (t *attempts) act(ctx context.Context, s ops.State, step ops.Step) (ops.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, step.Deadline)
	defer cancel()
	ctx = store.OnOutage(ctx, func(o store.Outage) { t.loop.Reporter.Waiting(step, o.String()) })
	if step.Streams() {
		go func() {
			select {
			case <-t.loop.Stop:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	return t.loop.Cluster.Perform(ctx, s, step, func(n, total int64) { t.loop.Reporter.Progress(step, n, total) })
}

// failed decides whether a failed step is tried again.
func (t *attempts) failed(ctx context.Context, now time.Time, step ops.Step, err error) (time.Duration, error) {
	if stop := t.loop.stopped(ctx); stop != nil {
		return 0, t.meanwhile(stop)
	}
	e := t.attempt(step)
	again := errors.Is(err, engine.ErrNotReady)
	if !again && ops.Transient(err) {
		e.tries++
		again = e.tries < ops.Attempts
	}
	if again && time.Since(e.since) < step.Deadline {
		t.waiting(step, strings.TrimSuffix(err.Error(), ": "+engine.ErrNotReady.Error()))
		return t.grow(), nil
	}
	t.close(now, err)
	if again {
		return 0, t.overdue(step, err)
	}
	return 0, fmt.Errorf("%s: %w", step.Title, err)
}

// overdue is the end of a step that was tried for as long as it may take.
func (t *attempts) overdue(step ops.Step, err error) error {
	hint := "kubectl dbop status shows what each member says; the same command continues"
	if step.Lets() {
		hint = fmt.Sprintf(
			"kubectl get pods,pvc -n %s -l %s=%s -o yaml shows what keeps it, by its finalizers; then the same command "+
				"continues",
			t.op.Namespace, v1alpha1.LabelCluster, t.op.Spec.Cluster)
	}
	return &ops.Error{Kind: ops.KindOf(err), Check: "deadline",
		Message: fmt.Sprintf("%s: tried for %s", step.Title, step.Deadline), Hint: hint, Err: err}
}

// grow returns the present pause and doubles the next, up to a second.
func (t *attempts) grow() time.Duration {
	d := max(t.backoff, ops.FirstBackoff)
	t.backoff = min(2*d, time.Second)
	return d
}
