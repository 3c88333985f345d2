package progress

import (
	"context"
	"errors"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

func TestSecondSignalLeavesAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	i := &Interruption{Cancel: cancel}
	gentle := 0
	i.Gently(func() { gentle++ })
	i.signal()
	if gentle != 1 || ctx.Err() != nil {
		t.Fatalf("the first signal: gentle %d, context %v", gentle, ctx.Err())
	}
	i.signal()
	if gentle != 1 || !errors.Is(context.Cause(ctx), exit.ErrInterrupted) {
		t.Fatalf("the second signal: gentle %d, context %v", gentle, context.Cause(ctx))
	}
	if code := exit.Code(ctx, ctx.Err()); code != exit.Interrupted {
		t.Errorf("exit %d", code)
	}
}
