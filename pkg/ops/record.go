package ops

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// saveGrace is how long the last write of a record may take after its caller is gone.
const saveGrace = 5 * time.Second

// begin opens a journal entry; a step that is tried again keeps its entry.
func begin(op *v1alpha1.Operation, step Step, now time.Time) {
	j := op.Status.Journal
	if n := len(j); n > 0 && j[n-1].Step == step.ID && j[n-1].FinishedAt == nil {
		return
	}
	op.Status.Journal = append(j, v1alpha1.JournalEntry{Step: step.ID, Title: step.Title, StartedAt: stamp(now)})
}

// end closes the journal entry of the step.
func end(op *v1alpha1.Operation, step Step, now time.Time, err error) {
	for i := len(op.Status.Journal) - 1; i >= 0; i-- {
		e := &op.Status.Journal[i]
		if e.Step != step.ID {
			continue
		}
		t := stamp(now)
		e.FinishedAt = &t
		if err != nil {
			e.Error = InNamespace(err.Error(), op.Namespace)
		}
		return
	}
}

// stamp is a time as the record keeps it: to the second.
func stamp(t time.Time) metav1.Time {
	at := metav1.NewTime(t)
	return at.Rfc3339Copy()
}

func setFact(op *v1alpha1.Operation, key, value string) {
	if op.Status.Facts == nil {
		op.Status.Facts = map[string]string{}
	}
	op.Status.Facts[key] = value
}

// SaveRecord persists the status of a record. A repeat after an answer that
// got lost is a success: what is stored says the same already, and op carries
// its version again. A conflict over a record that nobody touched is none:
// an API server has other reasons for that word.
func SaveRecord(ctx context.Context, store kube.Store, op *v1alpha1.Operation) error {
	for try := 1; ; try++ {
		err := store.UpdateOperation(ctx, op)
		if !errors.Is(err, kube.ErrConflict) || try == attempts {
			return err
		}
		stored, getErr := store.GetOperation(ctx, op.Namespace, op.Name)
		switch {
		case getErr != nil:
			return errors.Join(err, getErr)
		case stored.ResourceVersion == op.ResourceVersion:
			continue
		case !equality.Semantic.DeepEqual(stored.Status, op.Status):
			return err
		}
		op.ResourceVersion = stored.ResourceVersion
		return nil
	}
}

// save persists the record, and rides out an API server that does not take it.
func (l *Loop) save(ctx context.Context, op *v1alpha1.Operation) error {
	// A conflict says that another wrote, which no repeat mends.
	return ride(ctx, func() error { return l.World.Save(ctx, op) }, kube.ErrConflict)
}

// ride repeats a write until the API server takes it, unless the error is
// final, or it said that it will not have what is written.
func ride(ctx context.Context, write func() error, final ...error) error {
	began, pause := time.Now(), firstBackoff
	for {
		err := write()
		over := func(f error) bool { return errors.Is(err, f) }
		_, denied := kube.Denied(err)
		if err == nil || denied || !transient(err) || slices.ContainsFunc(final, over) || time.Since(began) > outageDeadline {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(context.Cause(ctx), err)
		}
		pause = min(2*pause, time.Second)
	}
}

// finish closes the record of a done operation.
func (l *Loop) finish(ctx context.Context, op *v1alpha1.Operation) error {
	phase := v1alpha1.PhaseSucceeded
	if op.Status.Phase == v1alpha1.PhaseCancelling {
		phase = v1alpha1.PhaseCancelled
	}
	op.Status.Phase, op.Status.Message = phase, ""
	now := stamp(time.Now())
	op.Status.FinishedAt = &now
	return l.save(ctx, op)
}

// pause writes the reason into the record, even if the caller is gone, and
// passes the error on. A killed process can't; its record stays Running.
func (l *Loop) pause(ctx context.Context, op *v1alpha1.Operation, cause error) error {
	if errors.Is(cause, kube.ErrLeaseLost) {
		return cause
	}
	op.Status.Message = InNamespace(cause.Error(), op.Namespace)
	if k := KindOf(cause); k == NeedsHuman || k == Refused || k == Failed {
		if op.Status.Phase == v1alpha1.PhaseRunning {
			op.Status.Phase = v1alpha1.PhasePaused
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveGrace)
	defer cancel()
	if err := l.World.Save(ctx, op); err != nil {
		return errors.Join(cause, err)
	}
	return cause
}

// transient reports whether trying again may help: everything but what is
// known to stay.
func transient(err error) bool {
	var typed *Error
	var forbidden *kube.ForbiddenError
	var noNamespace *kube.NamespaceError
	switch {
	case errors.As(err, &noNamespace):
		return false
	case errors.As(err, &forbidden), errors.Is(err, engine.ErrRefused), errors.Is(err, engine.ErrNotSnapshot),
		errors.Is(err, engine.ErrReadOnly), errors.Is(err, kube.ErrLeaseLost), errors.Is(err, kube.ErrExists):
		return false
	case errors.As(err, &typed):
		return typed.Kind == NotYet
	}
	return !permanent(err)
}
