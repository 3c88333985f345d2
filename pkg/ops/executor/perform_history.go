package executor

import (
	"context"
	"strconv"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// compact lets the engine drop history.
func (l *Executor) compact(ctx context.Context, s ops.State, members []string) (ops.Result, error) {
	session, err := l.connect(ctx, s.Cluster)
	if err != nil {
		return ops.Result{}, err
	}
	c, ok := session.(engine.Compactor)
	if !ok {
		return ops.Result{}, engine.ErrReadOnly
	}
	before := s.Operation.Spec.Compaction.Before
	if err := c.Compact(ctx, members, before); err != nil {
		return ops.Result{}, err
	}
	return ops.Result{Facts: map[string]string{v1alpha1.FactCompacted: strconv.FormatInt(before, 10)}}, nil
}
