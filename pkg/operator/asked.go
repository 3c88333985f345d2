package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/policy"
)

// asked is an object that asks for a backup, and the operation that takes it.
type asked struct {
	object v1alpha1.DatabaseBackup
	op     *v1alpha1.Operation
}

// askedFor gathers who asks for backups of this cluster. What a cache says is
// there, or is gone, is asked again where something is to be started or given up
// for it.
func (v *reconciliation) askedFor(ctx context.Context, fresh bool) error {
	v.asked, v.charge.Backups, v.charge.Orphan = nil, nil, false
	if !v.offered.now() {
		return nil
	}
	err := v.gather(ctx, v.Custom)
	if err == nil && fresh && (v.charge.Orphan || len(v.charge.Backups) > 0) {
		err = v.gather(ctx, v.Fresh)
	}
	return err
}

func (v *reconciliation) gather(ctx context.Context, from client.Reader) error {
	var list v1alpha1.DatabaseBackupList
	if err := from.List(ctx, &list, client.InNamespace(v.key.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list who asks for backups of %s: %w", v.key, err)
	}
	v.asked = nil
	open := map[types.UID]bool{}
	active := v.charge.Backup
	v.charge.Orphan = active != nil && active.Spec.Object != ""
	for i := range list.Items {
		b := &list.Items[i]
		if b.Spec.Cluster != v.key.Name || b.DeletionTimestamp != nil {
			continue
		}
		a := asked{}
		if active != nil && active.Spec.Object == string(b.UID) {
			a.op, v.charge.Orphan = active, false
		}
		if answered(b) {
			continue
		}
		open[b.UID] = true
		if !v.tracker.askers[b.UID].ended {
			a.object = *b.DeepCopy()
			v.asked = append(v.asked, a)
		}
	}
	v.tracker.only(open)
	slices.SortFunc(v.asked, func(a, b asked) int {
		if c := a.object.CreationTimestamp.Compare(b.object.CreationTimestamp.Time); c != 0 {
			return c
		}
		return strings.Compare(a.object.Name, b.object.Name)
	})
	return v.started(ctx)
}

// started finds the operations of those that have one, and has the rest wait for
// theirs. Whether an operation was started its record says: a status may be lost
// with the process that was about to write it. That there is none is found out
// once, as nobody else begins any.
func (v *reconciliation) started(ctx context.Context) error {
	unknown := func(a asked) bool { return a.op == nil && !v.tracker.askers[a.object.UID].none }
	if slices.ContainsFunc(v.asked, unknown) {
		history, err := v.Store.ListOperations(ctx, v.key.Namespace, v.key.Name)
		if err != nil {
			return err
		}
		for i := range v.asked {
			a := &v.asked[i]
			of := slices.IndexFunc(history, func(o v1alpha1.Operation) bool { return o.Spec.Object == string(a.object.UID) })
			if a.op == nil && of >= 0 {
				a.op = &history[of]
			}
			v.tracker.ask(a.object.UID, func(m *asker) { m.none = a.op == nil })
		}
	}
	v.charge.Backups = nil
	for _, a := range v.asked {
		if a.op == nil && a.object.Status.Operation == "" && !time.Now().Before(v.tracker.askers[a.object.UID].until) {
			v.charge.Backups = append(v.charge.Backups, a.object)
		}
	}
	return nil
}

// begin opens the operation that an object asks for. That it can't be is of no
// consequence for the cluster: what else is wanted of that goes on.
func (v *reconciliation) begin(ctx context.Context, m policy.NextAction) (time.Duration, error) {
	uid := types.UID(m.Asked)
	v.tracker.ask(uid, func(a *asker) { a.none = false })
	again, err := v.open(ctx, m.Request)
	if err == nil || v.tracker.session != nil || ctx.Err() != nil {
		if v.tracker.session != nil {
			v.tracker.hope()
		}
		return again, err
	}
	v.tracker.turnDown(uid, err, time.Now())
	v.turnedDown, v.report.skip = true, true
	return time.Millisecond, nil
}

// asks are the objects that are still to be answered, as text.
func (v *reconciliation) asks() string {
	var out strings.Builder
	for _, a := range v.asked {
		out.WriteString(" " + string(a.object.UID))
	}
	return out.String()
}
