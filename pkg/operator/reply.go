package operator

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// answer writes what became of each request, and says when to observe again.
func (v *reconciliation) answer(ctx context.Context) (again time.Duration) {
	sooner := func(d time.Duration) {
		if d = max(d, time.Millisecond); again == 0 || d < again {
			again = d
		}
	}
	for i := range v.asked {
		a := &v.asked[i]
		uid := a.object.UID
		if s := v.tracker.session; s != nil && s.Operation().Spec.Object == string(uid) {
			a.op = s.Operation()
		}
		next := newAnswer(&a.object)
		switch m := v.tracker.askers[uid]; {
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
			ctrllog.Log.Error(err, "a status could not be written", "namespace", a.object.Namespace, "databasebackup",
				a.object.Name)
			sooner(firstDelay)
		}
	}
	return again
}

// reply writes a status that says anything new.
func (v *reconciliation) reply(ctx context.Context, was v1alpha1.DatabaseBackup, a *answer) error {
	next := was.DeepCopy()
	next.Status = a.status
	if !equality.Semantic.DeepEqual(was.Status, next.Status) {
		if err := v.Custom.Status().Patch(ctx, next, client.MergeFrom(&was)); err != nil {
			return client.IgnoreNotFound(err)
		}
		v.announce(next, was.Status.Summary, a)
	}
	if answered(next) {
		v.tracker.ask(was.UID, func(m *asker) { m.ended = true }) // a cache may not know that yet
	}
	return nil
}

// announce has the object tell what was decided.
func (v *reconciliation) announce(b *v1alpha1.DatabaseBackup, before string, a *answer) {
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
func (v *reconciliation) unserved() error {
	if v.charge.Record == nil {
		return &ops.Error{Kind: ops.Refused, Check: "no-cluster", Message: "there is no databasecluster " + v.key.Name +
			" in this namespace", Hint: "it is taken once there is one"}
	}
	return &ops.Error{Kind: ops.Refused, Check: "no-cluster", Message: "cluster " + v.key.Name +
		" is under no custom resource, so no operator acts on it",
		Hint: fmt.Sprintf(
			"kubectl dbop backup %s -n %s takes one; or put the cluster under one: kubectl dbop operator adopt %s -n %s",
			v.key.Name, v.key.Namespace, v.key.Name, v.key.Namespace)}
}

// waitsFor is what comes first.
func (v *reconciliation) waitsFor() string {
	op := cmp.Or(v.charge.Active, v.charge.Backup)
	if s := v.tracker.session; s != nil {
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
	return "the cluster"
}
