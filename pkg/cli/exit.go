package cli

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// The exit codes; docs/conventions.md tells what they mean.
const (
	ExitDone        = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitUnchanged   = 3
	ExitRefused     = 4
	ExitBusy        = 5
	ExitNotFound    = 6
	ExitForbidden   = 7
	ExitUnreachable = 8
	ExitNeedsHuman  = 9
	ExitDegraded    = 10
	ExitDown        = 11
	ExitTimedOut    = 124
	ExitInterrupted = 130
)

// errInterrupted is the cause of a context that a person ended.
var errInterrupted = errors.New("interrupted")

// outcome ends a command with a code and no further words: all was said.
type outcome struct{ code int }

func (o *outcome) Error() string { return "the outcome was printed" }

// exitCode maps what a command returned to what the shell sees.
func exitCode(ctx context.Context, err error) int {
	var (
		said  *outcome
		wrong *usageError
	)
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &said):
		return said.code
	case errors.As(err, &wrong):
		return ExitUsage
	case errors.Is(err, errInterrupted), errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), errInterrupted):
		return ExitInterrupted
	case errors.Is(err, kube.ErrHeld):
		return ExitBusy
	case mistyped(err):
		return ExitUsage
	}
	switch ops.KindOf(err) {
	case ops.Refused:
		return ExitRefused
	case ops.Busy:
		return ExitBusy
	case ops.NeedsHuman:
		return ExitNeedsHuman
	case ops.TimedOut:
		return ExitTimedOut
	case ops.Interrupted:
		return ExitInterrupted
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
	case failed != nil && (failed.Check == checkNotFound || failed.Check == checkVolumesKept), errors.Is(err, repository.ErrNotFound):
		return ExitNotFound
	case forbidden && !denied, apierrors.IsUnauthorized(err):
		return ExitForbidden
	case unreachable, unconfigured, errors.Is(err, kube.ErrTimeout):
		return ExitUnreachable
	case errors.Is(err, context.DeadlineExceeded):
		return ExitTimedOut
	}
	return ExitFailed
}

const (
	// checkNotFound marks the error about a thing that a person named and that does not exist.
	checkNotFound = "not-found"
	// checkVolumesKept marks the same for a cluster of which volumes are kept.
	checkVolumesKept = "volumes-kept"
)

// mistyped reports whether the command names an engine, version, member or user that is not known.
func mistyped(err error) bool {
	failed, _ := errors.AsType[*ops.Error](err)
	refusal, _ := errors.AsType[*engine.Refusal](err)
	return failed != nil && failed.Unknown || refusal != nil && refusal.Unknown
}

// verdictCode is the exit code of a command that judges a cluster.
func verdictCode(level health.Level) error {
	switch level {
	case health.Healthy:
		return nil
	case health.Degraded:
		return &outcome{ExitDegraded}
	case health.Unknown:
		return &outcome{ExitForbidden}
	default:
		return &outcome{ExitDown}
	}
}
