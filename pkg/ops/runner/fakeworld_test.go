package runner

import (
	"context"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// ideal is a World in which every step does what its prediction says, and
// every wait comes to its end after a moment. Its hooks make it less ideal.
type ideal struct {
	mu    sync.Mutex
	state ops.State
	// still since when nothing was performed.
	since time.Time
	// calm is how long a wait takes; negative for ever.
	calm time.Duration

	performed []string
	saved     []v1alpha1.Operation

	job     ops.JobState
	observe func() error
	perform func(ops.Step) error
	save    func() error
}

func newIdeal(s ops.State) *ideal { return &ideal{state: s, since: time.Now(), calm: 2 * time.Second} }

func (w *ideal) Observe(context.Context) (ops.State, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.observe != nil {
		if err := w.observe(); err != nil {
			return ops.State{}, err
		}
	}
	if d := planner.Decide(opstest.Stub{}, w.state); d.Step != nil && d.Step.Action == ops.ActionWait && w.calm >= 0 &&
		time.Since(w.since) >= w.calm {
		w.state = planner.Predict(opstest.Stub{}, w.state, *d.Step)
	}
	s := planner.Clone(w.state)
	s.Now = time.Now()
	return s, nil
}

func (w *ideal) Perform(_ context.Context, s ops.State, step ops.Step, _ func(int64, int64)) (ops.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.performed = append(w.performed, step.ID)
	if w.perform != nil {
		if err := w.perform(step); err != nil {
			return ops.Result{}, err
		}
	}
	w.state.Operation = s.Operation.DeepCopy()
	next := planner.Predict(opstest.Stub{}, w.state, step)
	result := ops.Result{Facts: next.Operation.Status.Facts}
	next.Operation = s.Operation
	w.state, w.since = next, time.Now()
	return result, nil
}

func (w *ideal) Save(_ context.Context, op *v1alpha1.Operation) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.save != nil {
		if err := w.save(); err != nil {
			return err
		}
	}
	w.saved = append(w.saved, *op.DeepCopy())
	w.state.Operation = op.DeepCopy()
	return nil
}

func (w *ideal) ReadJob(context.Context, *v1alpha1.Operation) (ops.JobState, error) {
	return w.job, nil
}

func (w *ideal) Changed() <-chan struct{} { return nil }

func (w *ideal) Close() error { return nil }
