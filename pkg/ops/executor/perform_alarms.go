package executor

import (
	"context"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation/etcd"
)

// compare has the copies of the members compared, and stops where they differ.
func compare(ctx context.Context, session engine.AlarmClearer, t task) (ops.Result, error) {
	copies, err := session.CompareCopies(ctx, t.Members)
	if err == nil {
		err = etcd.JudgeCopies(t.Cluster.Name, copies)
	}
	if err != nil {
		return ops.Result{}, err
	}
	return fact(v1alpha1.FactCompared, copies[0].Sum)
}

// clearAlarms takes alarms back. That makes an earlier comparison worthless: should one be raised again, members are
// compared again.
func clearAlarms(ctx context.Context, session engine.AlarmClearer, t task) (ops.Result, error) {
	alarms := slices.DeleteFunc(slices.Clone(t.View.Alarms), func(a engine.Alarm) bool { return a.Name != t.Alarm })
	if err := session.ClearAlarms(ctx, alarms); err != nil {
		return ops.Result{}, err
	}
	return fact(v1alpha1.FactCompared, "")
}

// proveWrite proves that writes go on.
func proveWrite(ctx context.Context, session engine.AlarmClearer, t task) (ops.Result, error) {
	if err := session.ProveWrite(ctx, t.Members); err != nil {
		return ops.Result{}, err
	}
	return fact(v1alpha1.FactWritten, "yes")
}
