package ops

import (
	"context"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// clearAlarms compares members, takes alarms back, or proves that writes go on.
// Whoever takes an alarm back makes an earlier comparison worthless: should it
// be raised again, members are compared again.
func (l *Live) clearAlarms(ctx context.Context, s State, step Step) (Result, error) {
	session, err := l.connect(ctx, s.Cluster)
	if err != nil {
		return Result{}, err
	}
	d, ok := session.(engine.Disarmer)
	if !ok {
		return Result{}, engine.ErrReadOnly
	}
	switch step.Action {
	case ActionCompare:
		copies, err := d.CompareCopies(ctx, step.Members)
		if err == nil {
			err = judgeCopies(s.Cluster.Name, copies)
		}
		if err != nil {
			return Result{}, err
		}
		return Result{Facts: map[string]string{v1alpha1.FactCompared: copies[0].Sum}}, nil
	case ActionDisarm:
		alarms := slices.DeleteFunc(slices.Clone(s.View.Alarms), func(a engine.Alarm) bool { return a.Name != step.Alarm })
		if err := d.Disarm(ctx, alarms); err != nil {
			return Result{}, err
		}
		return Result{Facts: map[string]string{v1alpha1.FactCompared: ""}}, nil
	default:
		if err := d.ProveWrite(ctx, step.Members); err != nil {
			return Result{}, err
		}
		return Result{Facts: map[string]string{v1alpha1.FactWritten: "yes"}}, nil
	}
}
