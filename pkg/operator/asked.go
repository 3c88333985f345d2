package operator

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// askedFor gathers who asks for backups of this cluster. Whether an operation
// was begun for one of them its record says, and nothing else: a status may be
// lost with the process that was about to write it.
func (v *visit) askedFor(ctx context.Context, from client.Reader) error {
	v.asked, v.charge.Backups, v.charge.Orphan = nil, nil, false
	if !v.BackupsServed {
		return nil
	}
	var list v1alpha1.DatabaseBackupList
	if err := from.List(ctx, &list, client.InNamespace(v.key.Namespace)); err != nil {
		return fmt.Errorf("list who asks for backups of %s: %w", v.key, err)
	}
	active := v.charge.Active
	orphan := active != nil && active.Spec.Object != ""
	var unknown bool
	for _, b := range list.Items {
		if active != nil && string(b.UID) == active.Spec.Object && b.DeletionTimestamp == nil {
			orphan = false
		}
		if b.Spec.Cluster != v.key.Name || b.DeletionTimestamp != nil || ops.Answered(&b) {
			continue
		}
		a := asked{object: b}
		if active != nil && string(b.UID) == active.Spec.Object {
			a.op = active
		}
		unknown = unknown || a.op == nil
		v.asked = append(v.asked, a)
	}
	v.charge.Orphan = orphan
	if unknown {
		return v.begun(ctx)
	}
	return nil
}

// begun finds the operations of those that have one, and has the rest wait for theirs.
func (v *visit) begun(ctx context.Context) error {
	history, err := v.Store.ListOperations(ctx, v.key.Namespace, v.key.Name)
	if err != nil {
		return err
	}
	slices.SortFunc(v.asked, func(a, b asked) int { return a.object.CreationTimestamp.Compare(b.object.CreationTimestamp.Time) })
	for i := range v.asked {
		a := &v.asked[i]
		for n := range history {
			if a.op == nil && history[n].Spec.Object == string(a.object.UID) {
				a.op = &history[n]
			}
		}
		if a.op == nil && time.Now().After(v.mind.refused[a.object.UID].until) {
			v.charge.Backups = append(v.charge.Backups, a.object)
		}
	}
	return nil
}

// answer writes what became of each request, and says when to look again.
func (v *visit) answer(ctx context.Context) (again time.Duration) {
	present := map[types.UID]bool{}
	for _, a := range v.asked {
		present[a.object.UID] = true
		if s := v.mind.session; s != nil && s.Operation().Spec.Object == string(a.object.UID) {
			a.op = s.Operation()
		}
		refused := v.unserved()
		if refused == nil {
			refused = v.mind.refused[a.object.UID].err
		}
		if a.op == nil && refused != nil {
			again = refusedFor
		}
		next := a.object.DeepCopy()
		next.Status = ops.Answer(&a.object, a.op, refused)
		if equality.Semantic.DeepEqual(a.object.Status, next.Status) {
			continue
		}
		if err := v.Custom.Status().Patch(ctx, next, client.MergeFrom(&a.object)); err != nil && !apierrors.IsNotFound(err) {
			ctrllog.Log.Error(err, "a status could not be written", "namespace", a.object.Namespace, "databasebackup", a.object.Name)
			again = firstDelay
		}
	}
	for uid := range v.mind.refused {
		if !present[uid] {
			delete(v.mind.refused, uid)
		}
	}
	return again
}

// unserved says why no operator takes backups of this cluster.
func (v *visit) unserved() error {
	switch {
	case v.custom == nil && v.charge.Record == nil:
		return &ops.Error{Kind: ops.Refused, Check: "no-cluster", Message: "there is no databasecluster " + v.key.Name + " in this namespace", Hint: "it is taken once there is one"}
	case v.custom == nil:
		return &ops.Error{Kind: ops.Refused, Check: "no-cluster", Message: "cluster " + v.key.Name + " is under no custom resource, so no operator acts on it",
			Hint: fmt.Sprintf("kubectl dbop backup %s -n %s takes one; or kubectl dbop operator adopt %s -n %s", v.key.Name, v.key.Namespace, v.key.Name, v.key.Namespace)}
	}
	return nil
}
