package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// growing is a cluster of three that is to have four members.
func growing() ops.State {
	s := opstest.Doing(opstest.Well(3), opstest.Operation(v1alpha1.VerbScale), true)
	s.Cluster.Spec.Members = 4
	return s
}

// growth is what the loop has to do for it.
func growth() []string {
	return []string{"set-budget", "register-member/db-4", "start-members/db-4", "promote-member/db-4"}
}

func newLoop(w ops.Cluster) *Loop {
	return &Loop{Engine: opstest.Stub{}, Cluster: w, Reporter: ops.Silent{}, Poll: time.Second}
}

// run runs a loop in virtual time over an ideal world that prepare spoils.
func run(t *testing.T, s ops.State, prepare func(*ideal, *Loop)) (*ideal, *v1alpha1.Operation, error, time.Duration) {
	t.Helper()
	var w *ideal
	var err error
	var took time.Duration
	op := s.Operation
	synctest.Test(t, func(*testing.T) {
		w = newIdeal(s)
		l := newLoop(w)
		prepare(w, l)
		began := time.Now()
		err = l.Run(context.Background(), op)
		took = time.Since(began)
	})
	return w, op, err, took
}

func TestLoopDoesWhatThePlanSays(t *testing.T) {
	t.Parallel()
	for _, r := range opstest.Roads() {
		t.Run(r.Name, func(t *testing.T) {
			s := r.State()
			if s.Operation == nil {
				s.Operation = opstest.Operation(v1alpha1.VerbScale)
			}
			var want []string
			for _, step := range planner.MakePlan(opstest.Stub{}, s).Steps {
				if step.Action != ops.ActionWait {
					want = append(want, step.ID)
				}
			}
			end := v1alpha1.PhaseSucceeded
			if s.Cancelling() {
				end = v1alpha1.PhaseCancelled
			}
			w, op, err, _ := run(t, s, func(*ideal, *Loop) {})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, w.performed); diff != "" {
				t.Errorf("planned and performed (-want +got):\n%s", diff)
			}
			if op.Status.Phase != end || op.Status.FinishedAt == nil {
				t.Errorf("phase %s, finished %v", op.Status.Phase, op.Status.FinishedAt)
			}
			for _, e := range op.Status.Journal {
				if e.FinishedAt == nil || e.Error != "" {
					t.Errorf("journal entry %+v is not closed well", e)
				}
			}
		})
	}
}

// times makes a hook that fails n times.
func times(n int, err error) func() error {
	return func() error {
		if n--; n >= 0 {
			return err
		}
		return nil
	}
}

func TestLoopRetries(t *testing.T) {
	t.Parallel()
	notReady := fmt.Errorf("lags: %w", engine.ErrNotReady)
	for _, row := range []struct {
		name    string
		failing int
		err     error
		tries   int
		kind    ops.Kind
	}{
		{"not ready, many times", 20, notReady, 21, ""},
		{"transient, less than too often", ops.Attempts - 1, opstest.ErrStub, ops.Attempts, ""},
		{"transient, too often", ops.Attempts, opstest.ErrStub, ops.Attempts, ops.Failed},
		{"refused", 1, &engine.Refusal{Reason: "no"}, 1, ops.Refused},
		{"not ready for ever", 1 << 20, notReady, -1, ops.NotYet},
	} {
		t.Run(row.name, func(t *testing.T) {
			w, op, err, took := run(t, growing(), func(w *ideal, _ *Loop) {
				fail := times(row.failing, row.err)
				w.perform = func(s ops.Step) error {
					if s.Action == ops.ActionPromote {
						return fail()
					}
					return nil
				}
			})
			promotions := 0
			for _, id := range w.performed {
				if id == "promote-member/db-4" {
					promotions++
				}
			}
			if row.tries >= 0 && promotions != row.tries {
				t.Errorf("tried %d times, want %d", promotions, row.tries)
			}
			if n := len(op.Status.Journal); n != len(growth()) {
				t.Errorf("%d journal entries, want %d", n, len(growth()))
			}
			if row.kind == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || ops.KindOf(err) != row.kind {
				t.Errorf("error %v is of kind %s, want %s", err, ops.KindOf(err), row.kind)
			}
			if e, ok := errors.AsType[*ops.Error](err); row.kind == ops.NotYet && (!ok || e.Hint == "") {
				t.Errorf("%v, and no hint", err)
			}
			if op.Status.Phase == v1alpha1.PhaseSucceeded || op.Status.Message == "" {
				t.Errorf("phase %s, message %q", op.Status.Phase, op.Status.Message)
			}
			if row.tries < 0 && took > rules.StreamDeadline+time.Minute {
				t.Errorf("gave up after %s", took)
			}
		})
	}
}

func TestLoopRidesOutOutages(t *testing.T) {
	t.Parallel()
	outage := func(d time.Duration) func(*ideal, *Loop) {
		return func(w *ideal, _ *Loop) {
			until := time.Now().Add(d)
			down := func() error {
				if time.Now().Before(until) {
					return opstest.ErrStub
				}
				return nil
			}
			w.observe, w.save = down, down
		}
	}
	if _, op, err, _ := run(t, growing(), outage(30*time.Second)); err != nil ||
		op.Status.Phase != v1alpha1.PhaseSucceeded {
		t.Errorf("half a minute: %v, %s", err, op.Status.Phase)
	}
	_, _, err, took := run(t, growing(), outage(time.Hour))
	if err == nil || took > 2*ops.OutageDeadline+10*time.Second {
		t.Errorf("an hour: %v after %s", err, took)
	}
	// Answers to saves get lost in the middle.
	if _, _, err, _ := run(t, growing(), func(w *ideal, _ *Loop) { w.save = times(3, opstest.ErrStub) }); err != nil {
		t.Errorf("three saves failed: %v", err)
	}
	if _, _, err, _ := run(t, growing(), func(w *ideal, _ *Loop) { w.save = times(1, kube.ErrConflict) }); !errors.Is(err,
		kube.ErrConflict) {
		t.Errorf("somebody else wrote: %v", err)
	}
	forbidden := &kube.ForbiddenError{}
	if _, op, err, took := run(t, growing(), func(w *ideal, _ *Loop) { w.observe = times(1, forbidden) }); !errors.Is(err,
		forbidden) || took > time.Second {
		t.Errorf("forbidden: %v after %s, %s", err, took, op.Status.Phase)
	}
}

func TestLoopDeadlines(t *testing.T) {
	t.Parallel()
	_, op, err, took := run(t, growing(), func(w *ideal, _ *Loop) { w.calm = -1 })
	if ops.KindOf(err) != ops.NeedsHuman || took < rules.WaitDeadline || took > rules.WaitDeadline+10*time.Second ||
		op.Status.Phase != v1alpha1.PhasePaused {
		t.Errorf("a wait without end: %v after %s, %s", err, took, op.Status.Phase)
	}
	turn := 0
	_, _, err, took = run(t, growing(), func(_ *ideal, l *Loop) {
		l.Decide = func(engine.Engine, ops.State) ops.Decision {
			turn++
			return ops.Decision{Step: &ops.Step{ID: fmt.Sprint("wait/", turn%2), Action: ops.ActionWait,
				Deadline: rules.WaitDeadline}}
		}
	})
	if ops.KindOf(err) != ops.NeedsHuman || took > rules.WaitDeadline+10*time.Second {
		t.Errorf("two waits that alternate: %v after %s", err, took)
	}
	w, _, err, took := run(t, growing(), func(_ *ideal, l *Loop) {
		l.Decide = func(engine.Engine, ops.State) ops.Decision {
			return ops.Decision{Step: &ops.Step{ID: "set-budget", Action: ops.ActionBudget, Deadline: rules.StepDeadline}}
		}
	})
	if ops.KindOf(err) != ops.NeedsHuman || took > rules.StepDeadline+10*time.Second || len(w.performed) > 60 {
		t.Errorf("a step without an effect: %v after %s and %d tries", err, took, len(w.performed))
	}
}

func TestLoopStops(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	w, op, err, _ := run(t, growing(), func(w *ideal, l *Loop) {
		l.Stop = stop
		l.FailPoint = func(when string, s ops.Step) {
			if when == "before" && s.Action == ops.ActionRegister {
				close(stop)
			}
		}
	})
	if ops.KindOf(err) != ops.Interrupted || op.Status.Phase != v1alpha1.PhaseRunning {
		t.Errorf("stopped: %v, %s", err, op.Status.Phase)
	}
	if diff := cmp.Diff(growth()[:2], w.performed); diff != "" {
		t.Errorf("it stops after the step in hand (-want +got):\n%s", diff)
	}
	synctest.Test(t, func(t *testing.T) {
		w := newIdeal(growing())
		w.calm = -1
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		op := w.state.Operation
		if err := newLoop(w).Run(ctx, op); ops.KindOf(err) != ops.TimedOut || op.Status.Phase != v1alpha1.PhaseRunning {
			t.Errorf("timed out: %v, %s", err, op.Status.Phase)
		} else if !strings.Contains(err.Error(), "is over, at: Wait until db-4 has started") {
			t.Errorf("it does not say what it waited for: %v", err)
		}
	})
}

// TestLoopCutOff: the time of the caller ends while the record is written. The API server took it all the same, so what
// is written after that is refused.
func TestLoopCutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newIdeal(growing())
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		w.save = func() error {
			if ctx.Err() != nil {
				return kube.ErrConflict
			}
			<-ctx.Done()
			return fmt.Errorf("%w: %w", kube.ErrTimeout, ctx.Err())
		}
		err := newLoop(w).Run(ctx, w.state.Operation)
		if ops.KindOf(err) != ops.TimedOut || errors.Is(err, kube.ErrConflict) || errors.Is(err, kube.ErrTimeout) {
			t.Errorf("it does not say that the time is over, and only that: %v", err)
		}
		if len(w.performed) > 0 {
			t.Errorf("performed without a record: %v", w.performed)
		}
	})
}

func TestLoopAsksTheGuard(t *testing.T) {
	t.Parallel()
	shrinking := func() ops.State {
		s := opstest.Doing(opstest.Well(5), opstest.Operation(v1alpha1.VerbScale), true)
		s.Cluster.Spec.Members = 4
		return s
	}
	asked := 0
	w, _, err, _ := run(t, shrinking(), func(_ *ideal, l *Loop) {
		l.Guard = func(context.Context) error { asked++; return nil }
	})
	if err != nil || asked != 2 || len(w.performed) != 2 {
		t.Errorf("%v; asked %d times, performed %v", err, asked, w.performed)
	}
	asked = 0
	if _, _, err, _ := run(t, shrinking(), func(_ *ideal, l *Loop) {
		l.Guard = func(context.Context) error { asked++; return times(asked%2, opstest.ErrStub)() }
	}); err != nil {
		t.Errorf("a guard that can't be asked now and then: %v", err)
	}
	w, op, err, _ := run(t, shrinking(), func(_ *ideal, l *Loop) {
		l.Guard = func(context.Context) error { return lease.ErrLost }
	})
	if !errors.Is(err, lease.ErrLost) || len(w.performed) != 0 {
		t.Errorf("lost: %v, performed %v", err, w.performed)
	}
	if n := len(w.saved); n != 1 || op.Status.Message != "" {
		t.Errorf("who lost the lease writes nothing more: %d saves, %q", n, op.Status.Message)
	}
	var typed *ops.Error
	if !errors.As(err, &typed) || typed.Kind != ops.Failed || typed.Check != "lease" || typed.Hint == "" {
		t.Errorf("who lost the lease is told: %v", err)
	}
	asked = 0
	if _, _, err, _ := run(t, growing(), func(_ *ideal, l *Loop) {
		l.Guard = func(context.Context) error { asked++; return nil }
	}); err != nil || asked != len(growth()) {
		t.Errorf("asked %d times for %d steps, also those that can be undone: %v", asked, len(growth()), err)
	}
}

// TestLoopStopsWithoutLease hears in the middle that the lease is gone.
func TestLoopStopsWithoutLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(*testing.T) {
		ctx, cancel := context.WithCancelCause(context.Background())
		w := newIdeal(growing())
		w.perform = func(ops.Step) error { cancel(lease.ErrLost); return nil }
		op := w.state.Operation
		err := newLoop(w).Run(ctx, op)
		var typed *ops.Error
		if !errors.As(err, &typed) || typed.Kind != ops.Failed || typed.Check != "lease" || !errors.Is(err, lease.ErrLost) {
			t.Errorf("got %v", err)
		}
		if len(w.performed) != 1 || op.Status.Message != "" {
			t.Errorf("performed %v, then wrote %q", w.performed, op.Status.Message)
		}
	})
}

func TestLoopWritesDownFirst(t *testing.T) {
	t.Parallel()
	_, op, err, _ := run(t, growing(), func(w *ideal, _ *Loop) {
		w.perform = func(s ops.Step) error {
			j := w.saved[len(w.saved)-1].Status.Journal
			if len(j) == 0 || j[len(j)-1].Step != s.ID || j[len(j)-1].FinishedAt != nil {
				t.Errorf("%s is performed before it is written down: %v", s.ID, j)
			}
			return nil
		}
	})
	if err != nil || len(op.Status.Journal) != len(growth()) {
		t.Errorf("%v, journal %v", err, op.Status.Journal)
	}
}

// TestLoopRefusesToStepBack: a cancel that is refused is not carried out, so that the operation can be finished. One
// that waits for a person goes on to step back.
func TestLoopRefusesToStepBack(t *testing.T) {
	t.Parallel()
	for kind, want := range map[ops.Kind]v1alpha1.Phase{
		ops.Refused: v1alpha1.PhasePaused, ops.NeedsHuman: v1alpha1.PhaseCancelling,
	} {
		s := growing()
		s.Operation.Status.Phase = v1alpha1.PhaseCancelling
		_, op, err, _ := run(t, s, func(_ *ideal, l *Loop) {
			l.Decide = func(engine.Engine, ops.State) ops.Decision {
				return ops.Decision{Blocked: &ops.Error{Kind: kind, Message: "no"}}
			}
		})
		if ops.KindOf(err) != kind || op.Status.Phase != want || op.Status.Message != "no" {
			t.Errorf("%v: %v, %s: %s", kind, err, op.Status.Phase, op.Status.Message)
		}
	}
}

func TestLoopStepsBack(t *testing.T) {
	t.Parallel()
	s := opstest.Doing(opstest.Well(3), opstest.Operation(v1alpha1.VerbScale), false)
	s.Operation.Status.Phase = v1alpha1.PhaseCancelling
	opstest.Join(&s, "db-4", false)
	w, op, err, _ := run(t, s, func(*ideal, *Loop) {})
	if err != nil || op.Status.Phase != v1alpha1.PhaseCancelled {
		t.Errorf("%v, %s", err, op.Status.Phase)
	}
	if diff := cmp.Diff([]string{"deregister-member/db-4", "retire-member/db-4"}, w.performed); diff != "" {
		t.Error(diff)
	}
}

// TestPollGrows: a process with one cluster observes at a steady pace, one with many observes
// less often the longer a wait goes on.
func TestPollGrows(t *testing.T) {
	t.Parallel()
	one := &Loop{Poll: 250 * time.Millisecond}
	many := &Loop{Poll: 250 * time.Millisecond, Many: true}
	for waited, want := range map[time.Duration]time.Duration{0: 250 * time.Millisecond, 4 * time.Second: time.Second,
		time.Hour: maxPoll} {
		if got := one.poll(waited); got != 250*time.Millisecond {
			t.Errorf("one cluster, after %s: %s", waited, got)
		}
		if got := many.poll(waited); got != want {
			t.Errorf("many clusters, after %s: %s, want %s", waited, got, want)
		}
	}
}
