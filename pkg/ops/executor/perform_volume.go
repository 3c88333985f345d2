package executor

import (
	"context"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// applyVolume makes a member's volume, or grows it. One that is larger than
// wanted, of a growth that was stepped back, stays as it is.
func (l *Executor) applyVolume(ctx context.Context, s ops.State, member string) error {
	c := s.Cluster
	if has := s.Kube.Member(member).Volume.Size; has.Cmp(c.Spec.Storage.Size) > 0 {
		c = c.DeepCopy()
		c.Spec.Storage.Size = has
	}
	return workload.ApplyVolume(ctx, l.Client, c, member)
}

// grow asks for larger volumes; the storage makes them so in its own time.
func (l *Executor) grow(ctx context.Context, t task) error {
	for _, m := range t.Members {
		if err := l.applyVolume(ctx, t.State, m); err != nil {
			if reason, denied := kube.Denied(err); denied {
				return notGrown(ops.NeedsHuman, m, reason)
			}
			return fmt.Errorf("grow the volume of %s: %w", m, err)
		}
	}
	return nil
}

// rehearseGrowth has the API server judge the growth of every volume, by class
// and quota, before the first one grows. No right to read storage classes is
// needed for it.
func (l *Executor) rehearseGrowth(ctx context.Context, s ops.State, step ops.Step) error {
	for _, m := range step.Members {
		err := workload.RehearseVolume(ctx, l.Client, s.Cluster, m)
		if reason, denied := kube.Denied(err); denied {
			return notGrown(ops.Refused, m, reason)
		}
	}
	return nil
}

func notGrown(kind ops.Kind, member, reason string) *ops.Error {
	return &ops.Error{Kind: kind, Check: "grow", Message: fmt.Sprintf("the volume of %s can't grow: %s", member, reason),
		Hint: "a storage class must allow expansion and a quota must have room: kubectl describe pvc " +
			v1alpha1.VolumeName(member)}
}
