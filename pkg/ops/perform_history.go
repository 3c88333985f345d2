package ops

import (
	"context"
	"strconv"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// compact lets the engine drop history.
func (l *Live) compact(ctx context.Context, s State, members []string) (Result, error) {
	session, err := l.connect(ctx, s.Cluster)
	if err != nil {
		return Result{}, err
	}
	c, ok := session.(engine.Compactor)
	if !ok {
		return Result{}, engine.ErrReadOnly
	}
	before := s.Operation.Spec.Compaction.Before
	if err := c.Compact(ctx, members, before); err != nil {
		return Result{}, err
	}
	return Result{Facts: map[string]string{v1alpha1.FactCompacted: strconv.FormatInt(before, 10)}}, nil
}
