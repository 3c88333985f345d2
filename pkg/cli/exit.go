package cli

import (
	"context"
	"errors"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// The exit codes. They tell the outcome of the work, not of the request.
// status has two of its own: 1 degraded, 2 down; and so has diagnose, see there.
const (
	ExitDone        = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitUnchanged   = 3
	ExitRefused     = 4
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
		return ExitRefused
	}
	switch ops.KindOf(err) {
	case ops.Refused, ops.Busy:
		return ExitRefused
	case ops.TimedOut:
		return ExitTimedOut
	case ops.Interrupted:
		return ExitInterrupted
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return ExitTimedOut
	}
	return ExitFailed
}
