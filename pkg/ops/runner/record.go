package runner

import (
	"context"
	"errors"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// begin opens a journal entry; a step that is tried again keeps its entry.
func begin(op *v1alpha1.Operation, step ops.Step, now time.Time) {
	j := op.Status.Journal
	if n := len(j); n > 0 && j[n-1].Step == step.ID && j[n-1].FinishedAt == nil {
		return
	}
	op.Status.Journal = append(j, v1alpha1.JournalEntry{Step: step.ID, Title: step.Title, StartedAt: ops.Stamp(now)})
}

// noteSource writes down which member a backup is about to be taken from, and reports whether that is new: who begins
// something beside it has to leave that member alone.
func noteSource(op *v1alpha1.Operation, step ops.Step) bool {
	source := step.Member()
	if step.Action != ops.ActionBackup || source == "" || op.Status.Facts[v1alpha1.FactSource] == source {
		return false
	}
	ops.SetFact(op, v1alpha1.FactSource, source)
	return true
}

// end closes the journal entry of the step.
func end(op *v1alpha1.Operation, step ops.Step, now time.Time, err error) {
	for i := len(op.Status.Journal) - 1; i >= 0; i-- {
		e := &op.Status.Journal[i]
		if e.Step != step.ID {
			continue
		}
		t := ops.Stamp(now)
		e.FinishedAt = &t
		if err != nil {
			e.Error = ops.InNamespace(err.Error(), op.Namespace)
		}
		return
	}
}

// save persists the record, and rides out an API server that does not take it.
func (l *Loop) save(ctx context.Context, op *v1alpha1.Operation) error {
	// A conflict says that another wrote, which no repeat mends.
	err := ops.Retry(ctx, func() error { return l.Cluster.Save(ctx, op) }, kube.ErrConflict)
	if err != nil && ctx.Err() != nil && !errors.Is(err, kube.ErrConflict) {
		// A request that was cut off says that the API server did not answer, and this says why it was cut off.
		if over := l.stopped(ctx); over != nil {
			return over
		}
	}
	return err
}

// finish closes the record of a done operation.
func (l *Loop) finish(ctx context.Context, op *v1alpha1.Operation) error {
	phase := v1alpha1.PhaseSucceeded
	if op.Status.Phase == v1alpha1.PhaseCancelling {
		phase = v1alpha1.PhaseCancelled
	}
	op.Status.Phase, op.Status.Message = phase, ""
	now := ops.Stamp(time.Now())
	op.Status.FinishedAt = &now
	return l.save(ctx, op)
}

// pause writes the reason into the record, even if the caller is gone, and
// passes the error on. A killed process can't; its record stays Running.
func (l *Loop) pause(ctx context.Context, op *v1alpha1.Operation, cause error) error {
	if errors.Is(cause, lease.ErrLost) {
		return cause
	}
	op.Status.Message = ops.InNamespace(cause.Error(), op.Namespace)
	k := ops.KindOf(cause)
	person := k == ops.NeedsHuman || k == ops.Refused || k == ops.Failed
	// A refused cancel is not carried out: the command that began the operation, typed again, finishes it.
	phase := op.Status.Phase
	if person && phase == v1alpha1.PhaseRunning || k == ops.Refused && phase == v1alpha1.PhaseCancelling {
		op.Status.Phase = v1alpha1.PhasePaused
	}
	// A request that was cut off may have been carried out: then the record is newer than what is known of it here, and
	// says what was to be done.
	cut := ctx.Err() != nil && (k == ops.TimedOut || k == ops.Interrupted)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ops.SaveGrace)
	defer cancel()
	err := l.Cluster.Save(ctx, op)
	if err != nil && (!cut || !errors.Is(err, kube.ErrConflict)) {
		return errors.Join(cause, err)
	}
	return cause
}
