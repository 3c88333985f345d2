package command

import (
	"context"
	"errors"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// Within has work take no longer than --timeout, and says so of what that cut off. The time in which a person is asked
// is not part of it.
func (c *Change) Within(ctx context.Context, work func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	err := overdue(ctx, work(ctx))
	_, judged := errors.AsType[*ops.Error](err)
	if judged || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return err
	}
	return ops.OutOfTime(err, "the same command continues where it stopped; --timeout allows it more")
}

// overdue tells a request that the end of the caller's own time cut off from one that the API server did not answer.
func overdue(ctx context.Context, err error) error {
	_, judged := errors.AsType[*ops.Error](err)
	if judged || !errors.Is(err, kube.ErrTimeout) || !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return err
	}
	return ops.OutOfTime(err, "the same command continues where it stopped")
}
