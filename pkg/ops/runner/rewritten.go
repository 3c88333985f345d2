package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// ErrRewritten: somebody else wrote into the record of what is carried out, so that its process stops at once, and
// takes it up again as it is now. It is a lease.ErrLost.
var ErrRewritten = fmt.Errorf("somebody else asked for something else of this operation: %w", lease.ErrLost)

// rewrittenEvery is how often a process that streams a backup asks whether it is still wanted.
const rewrittenEvery = 5 * time.Second

// rewritable reports whether others write into the record while it is carried out: who cancels a backup, or has to put
// an end to it, does not wait for the process that takes it.
func (s *Session) rewritable() bool { return planner.OperationOf(s.op.Spec.Verb).Manners().Alongside }

// guard is asked before every step.
func (s *Session) guard(ctx context.Context) error {
	if err := s.lease.Check(ctx); err != nil || !s.rewritable() {
		return err
	}
	return s.unwritten(ctx, s.op.Status.Phase)
}

// unwritten is ErrRewritten if the record says that it is to be stepped back, and this process does not.
func (s *Session) unwritten(ctx context.Context, phase v1alpha1.Phase) error {
	stored, err := s.runner.Store.GetOperation(ctx, s.op.Namespace, s.op.Name)
	if err != nil {
		return fmt.Errorf("read the record %s: %w", s.op.Name, err)
	}
	if p := stored.Status.Phase; phase != v1alpha1.PhaseCancelling &&
		(p == v1alpha1.PhaseCancelling || p == v1alpha1.PhaseCancelled) {
		return ErrRewritten
	}
	return nil
}

// watchRecord cuts a step off that goes on for long once the record is rewritten.
func (s *Session) watchRecord(ctx context.Context, phase v1alpha1.Phase, cancel context.CancelCauseFunc) {
	for tick := time.NewTicker(rewrittenEvery); ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return
		}
		if errors.Is(s.unwritten(ctx, phase), ErrRewritten) {
			cancel(ErrRewritten)
		}
	}
}

// steppedBack is the end of a command whose operation somebody else cancelled, or put an end to.
func steppedBack(op *v1alpha1.Operation) error {
	e := &ops.Error{Kind: ops.Failed, Check: ops.CheckCancelled,
		Message: fmt.Sprintf("operation %s was cancelled by somebody else", op.Name),
		Hint:    "kubectl dbop status " + op.Spec.Cluster + " shows what goes on; then repeat the command"}
	if op.Status.Message != "" {
		e.Check, e.Message = checkSuperseded, fmt.Sprintf("operation %s was %s", op.Name, op.Status.Message)
	}
	return e
}
