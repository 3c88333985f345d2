package command

import (
	"context"
	"errors"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// overdue tells a request that the end of the caller's own time cut off from one that the API server did not answer.
func overdue(ctx context.Context, err error) error {
	_, judged := errors.AsType[*ops.Error](err)
	if judged || !errors.Is(err, kube.ErrTimeout) || !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return err
	}
	return ops.OutOfTime(err, "the same command continues where it stopped")
}
