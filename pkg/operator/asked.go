package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// asked is an object that asks for a backup, and the operation that takes it.
type asked struct {
	object v1alpha1.DatabaseBackup
	op     *v1alpha1.Operation
}

// askedFor gathers who asks for backups of this cluster. What a cache says is
// there, or is gone, is asked anew where something is to be begun or given up
// for it.
func (v *visit) askedFor(ctx context.Context, fresh bool) error {
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

func (v *visit) gather(ctx context.Context, from client.Reader) error {
	var list v1alpha1.DatabaseBackupList
	if err := from.List(ctx, &list, client.InNamespace(v.key.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list who asks for backups of %s: %w", v.key, err)
	}
	v.asked = nil
	open := map[types.UID]bool{}
	active := v.charge.Active
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
		if !v.mind.askers[b.UID].ended {
			a.object = *b.DeepCopy()
			v.asked = append(v.asked, a)
		}
	}
	v.mind.only(open)
	slices.SortFunc(v.asked, func(a, b asked) int {
		if c := a.object.CreationTimestamp.Compare(b.object.CreationTimestamp.Time); c != 0 {
			return c
		}
		return strings.Compare(a.object.Name, b.object.Name)
	})
	return v.begun(ctx)
}

// begun finds the operations of those that have one, and has the rest wait for
// theirs. Whether an operation was begun its record says: a status may be lost
// with the process that was about to write it. That there is none is found out
// once, as nobody else begins any.
func (v *visit) begun(ctx context.Context) error {
	unknown := func(a asked) bool { return a.op == nil && !v.mind.askers[a.object.UID].none }
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
			v.mind.ask(a.object.UID, func(m *asker) { m.none = a.op == nil })
		}
	}
	v.charge.Backups = nil
	for _, a := range v.asked {
		if a.op == nil && a.object.Status.Operation == "" && !time.Now().Before(v.mind.askers[a.object.UID].until) {
			v.charge.Backups = append(v.charge.Backups, a.object)
		}
	}
	return nil
}

// begin opens the operation that an object asks for. That it can't be is of no
// consequence for the cluster: what else is wanted of that goes on.
func (v *visit) begin(ctx context.Context, m ops.Move) (time.Duration, error) {
	uid := types.UID(m.Asked)
	v.mind.ask(uid, func(a *asker) { a.none = false })
	again, err := v.open(ctx, m.Request)
	if err == nil || v.mind.session != nil || ctx.Err() != nil {
		if v.mind.session != nil {
			v.mind.hope()
		}
		return again, err
	}
	v.mind.turnDown(uid, err, time.Now())
	v.turnedDown, v.report.skip = true, true
	return time.Millisecond, nil
}

// answer writes what became of each request, and says when to look again.
func (v *visit) answer(ctx context.Context) (again time.Duration) {
	sooner := func(d time.Duration) {
		if d = max(d, time.Millisecond); again == 0 || d < again {
			again = d
		}
	}
	for i := range v.asked {
		a := &v.asked[i]
		uid := a.object.UID
		if s := v.mind.session; s != nil && s.Operation().Spec.Object == string(uid) {
			a.op = s.Operation()
		}
		next := newAnswer(&a.object)
		switch m := v.mind.askers[uid]; {
		case a.op != nil:
			next.tell(a.op)
		case a.object.Status.Operation != "":
			next.lost(time.Now())
		case v.custom == nil && time.Since(a.object.CreationTimestamp.Time) < goneFor:
			// It may have been applied together with its cluster.
			next.pending("for databasecluster " + v.key.Name)
			sooner(goneFor)
		case v.custom == nil:
			next.refused(v.unserved())
		case m.refused != nil && !v.custom.Spec.Paused:
			next.refused(m.refused)
			sooner(time.Until(m.until))
		default:
			next.pending(v.waitsFor())
		}
		if err := v.reply(ctx, a.object, next); err != nil {
			ctrllog.Log.Error(err, "a status could not be written", "namespace", a.object.Namespace, "databasebackup", a.object.Name)
			sooner(firstDelay)
		}
	}
	return again
}

// reply writes a status that says anything new.
func (v *visit) reply(ctx context.Context, was v1alpha1.DatabaseBackup, a *answer) error {
	next := was.DeepCopy()
	next.Status = a.status
	if !equality.Semantic.DeepEqual(was.Status, next.Status) {
		if err := v.Custom.Status().Patch(ctx, next, client.MergeFrom(&was)); err != nil {
			return client.IgnoreNotFound(err)
		}
		v.announce(next, was.Status.Summary, a)
	}
	if answered(next) {
		v.mind.ask(was.UID, func(m *asker) { m.ended = true }) // a cache may not know that yet
	}
	return nil
}

// announce has the object tell what was decided.
func (v *visit) announce(b *v1alpha1.DatabaseBackup, before string, a *answer) {
	kind := corev1.EventTypeNormal
	switch b.Status.Summary {
	case before, summaryPending:
		return
	case summaryStalled, summaryCancelled:
		kind = corev1.EventTypeWarning
	}
	v.Events.Eventf(b, nil, kind, strings.ToUpper(b.Status.Summary[:1])+b.Status.Summary[1:], "Backup", "%s", a.message())
}

// unserved says why no operator takes backups of this cluster.
func (v *visit) unserved() error {
	if v.charge.Record == nil {
		return &ops.Error{Kind: ops.Refused, Check: "no-cluster", Message: "there is no databasecluster " + v.key.Name + " in this namespace", Hint: "it is taken once there is one"}
	}
	return &ops.Error{Kind: ops.Refused, Check: "no-cluster", Message: "cluster " + v.key.Name + " is under no custom resource, so no operator acts on it",
		Hint: fmt.Sprintf("kubectl dbop backup %s -n %s takes one; or put the cluster under one: kubectl dbop operator adopt %s -n %s", v.key.Name, v.key.Namespace, v.key.Name, v.key.Namespace)}
}

// waitsFor is what comes first.
func (v *visit) waitsFor() string {
	op := v.charge.Active
	if s := v.mind.session; s != nil {
		op = s.Operation()
	}
	name := "databasecluster " + v.key.Name
	switch {
	case v.custom.DeletionTimestamp != nil:
		return "in vain: " + name + " is being deleted"
	case v.custom.Spec.Paused:
		return "until " + name + " is not paused any more"
	case op != nil:
		return fmt.Sprintf("for operation %s (%s)", op.Name, op.Spec.Verb)
	case v.report.stalled != nil:
		return "until " + name + " is not stalled any more"
	}
	return "its turn"
}

// asks are the objects that are still to be answered, as text.
func (v *visit) asks() string {
	var out strings.Builder
	for _, a := range v.asked {
		out.WriteString(" " + string(a.object.UID))
	}
	return out.String()
}
