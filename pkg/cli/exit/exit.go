package exit

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// The exit codes; docs/conventions.md tells what they mean.
const (
	Done        = 0
	Failed      = 1
	Usage       = 2
	Unchanged   = 3
	Refused     = 4
	Busy        = 5
	NotFound    = 6
	Forbidden   = 7
	Unreachable = 8
	NeedsHuman  = 9
	Degraded    = 10
	Down        = 11
	Cancelled   = workload.CancelledCode
	TimedOut    = 124
	Interrupted = 130
)

// ErrInterrupted is the cause of a context that a person ended.
var ErrInterrupted = errors.New("interrupted")

// Outcome ends a command with a code and no further words: all was said.
type Outcome int

func (Outcome) Error() string { return "the outcome was printed" }

// Code maps what a command returned to what the shell sees.
func Code(ctx context.Context, err error) int {
	var (
		said  Outcome
		wrong *UsageError
	)
	switch {
	case err == nil:
		return Done
	case errors.As(err, &said):
		return int(said)
	case errors.As(err, &wrong):
		return Usage
	case errors.Is(err, ErrInterrupted), errors.Is(err, context.Canceled) &&
		errors.Is(context.Cause(ctx), ErrInterrupted):
		return Interrupted
	case errors.Is(err, lease.ErrHeld):
		return Busy
	case mistyped(err):
		return Usage
	}
	switch ops.KindOf(err) {
	case ops.Refused:
		return Refused
	case ops.Busy:
		return Busy
	case ops.NeedsHuman:
		return NeedsHuman
	case ops.TimedOut:
		return TimedOut
	case ops.Interrupted:
		return Interrupted
	}
	return failureCode(err)
}

// failureCode tells apart what no attempt was made for.
func failureCode(err error) int {
	failed, _ := errors.AsType[*ops.Error](err)
	_, unreachable := errors.AsType[*kube.UnreachableError](err)
	_, unconfigured := errors.AsType[*kube.ConfigError](err)
	_, forbidden := errors.AsType[*kube.ForbiddenError](err)
	_, denied := kube.Denied(err)
	switch {
	case failed != nil && failed.Check == ops.CheckCancelled:
		return Cancelled
	case failed != nil && (failed.Check == CheckNotFound || failed.Check == CheckVolumesKept),
		errors.Is(err, repository.ErrNotFound):
		return NotFound
	case forbidden && !denied, apierrors.IsUnauthorized(err):
		return Forbidden
	case unreachable, unconfigured, errors.Is(err, kube.ErrTimeout):
		return Unreachable
	case errors.Is(err, context.DeadlineExceeded):
		return TimedOut
	}
	return Failed
}

const (
	// CheckNotFound marks the error about a thing that a person named and that does not exist.
	CheckNotFound = "not-found"
	// CheckVolumesKept marks the same for a cluster of which volumes are kept.
	CheckVolumesKept = "volumes-kept"
)

// mistyped reports whether the command names an engine, version, member or user that is not known.
func mistyped(err error) bool {
	for e, ok := ops.AsError(err); ok; e, ok = ops.AsError(e.Err) {
		if e.Unknown {
			return true
		}
	}
	return false
}

// Verdict is the exit code of a command that judges a cluster.
func Verdict(level health.Level) error {
	switch level {
	case health.Healthy:
		return nil
	case health.Degraded:
		return Outcome(Degraded)
	case health.Unknown:
		return Outcome(Forbidden)
	default:
		return Outcome(Down)
	}
}
