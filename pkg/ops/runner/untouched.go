package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// revert makes the cluster want what it wanted before the operation.
func revert(c *v1alpha1.DatabaseCluster, op *v1alpha1.Operation) bool {
	back := op.DeepCopy()
	back.Status.Phase = v1alpha1.PhaseCancelling
	return planner.ApplyTo(c, back)
}

// giveUp ends an operation that failed before it had an effect, so that it does
// not block the next command. What had an effect stays as it is, and so does
// what an operator asked for: that tries again by itself. A Job goes on: who repeats the command finds what it made.
func (r *Runner) giveUp(ctx context.Context, op *v1alpha1.Operation, lease lease.Lease, cause error) error {
	touched := !ops.Untouched(op) && !settingsRefused(op, cause)
	if op.Status.Phase != v1alpha1.PhasePaused || touched || planner.Verbs().Bootstraps(op) ||
		strings.HasPrefix(op.Spec.RequestedBy, ops.OperatorPrefix) {
		return cause
	}
	if failed, ok := errors.AsType[*ops.Error](cause); ops.JobStarted(op) && (!ok || failed.Check != ops.CheckJobFailed) {
		return cause
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ops.SaveGrace)
	defer cancel()
	err := r.revertRecord(ctx, op, lease)
	if err == nil {
		now := ops.Stamp(time.Now())
		op.Status.Phase, op.Status.FinishedAt = v1alpha1.PhaseFailed, &now
		err = r.save(ctx, op)
	}
	if err != nil {
		return errors.Join(cause, fmt.Errorf("end operation %s, which changed nothing: %w", op.Name, err))
	}
	r.Reporter.Note(fmt.Sprintf("Nothing was changed: operation %s ended as failed.", op.Name))
	return cause
}

// settingsRefused reports whether all that an operation did was to ask members for settings that the database would not
// take. That changes nothing.
func settingsRefused(op *v1alpha1.Operation, cause error) bool {
	j := op.Status.Journal
	return ops.KindOf(cause) == ops.Refused && len(j) == 1 && j[0].Step == string(ops.ActionConfigure) &&
		j[0].Error != "" && len(op.Status.Facts) == 0
}

// revertRecord writes into the cluster's record what was wanted before the operation.
func (r *Runner) revertRecord(ctx context.Context, op *v1alpha1.Operation, lease lease.Lease) error {
	return ops.Retry(ctx, func() error {
		c, err := r.Store.GetCluster(ctx, op.Namespace, op.Spec.Cluster)
		if errors.Is(err, kube.ErrNotFound) {
			return nil
		}
		if err != nil || !revert(c, op) {
			return err
		}
		if err := lease.Check(ctx); err != nil {
			return err
		}
		return r.Store.UpdateCluster(ctx, c)
	})
}
