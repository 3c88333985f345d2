package executor

import (
	"context"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation/etcd"
)

// clearAlarms compares members, takes alarms back, or proves that writes go on.
// Who takes an alarm back makes an earlier comparison worthless: should it
// be raised again, members are compared again.
func (l *Executor) clearAlarms(ctx context.Context, s ops.State, step ops.Step) (ops.Result, error) {
	session, err := l.connect(ctx, s.Cluster)
	if err != nil {
		return ops.Result{}, err
	}
	d, ok := session.(engine.AlarmClearer)
	if !ok {
		return ops.Result{}, engine.ErrReadOnly
	}
	switch step.Action {
	case ops.ActionCompare:
		copies, err := d.CompareCopies(ctx, step.Members)
		if err == nil {
			err = etcd.JudgeCopies(s.Cluster.Name, copies)
		}
		if err != nil {
			return ops.Result{}, err
		}
		return ops.Result{Facts: map[string]string{v1alpha1.FactCompared: copies[0].Sum}}, nil
	case ops.ActionClearAlarms:
		alarms := slices.DeleteFunc(slices.Clone(s.View.Alarms), func(a engine.Alarm) bool { return a.Name != step.Alarm })
		if err := d.ClearAlarms(ctx, alarms); err != nil {
			return ops.Result{}, err
		}
		return ops.Result{Facts: map[string]string{v1alpha1.FactCompared: ""}}, nil
	default:
		if err := d.ProveWrite(ctx, step.Members); err != nil {
			return ops.Result{}, err
		}
		return ops.Result{Facts: map[string]string{v1alpha1.FactWritten: "yes"}}, nil
	}
}
