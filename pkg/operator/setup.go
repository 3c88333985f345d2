package operator

import (
	"context"
	"fmt"
	"log/slog"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// setup has custom resources, their records and everything that bears a
// cluster's label wake the reconciler. A change of a custom resource counts
// only where it is one of what is wanted: status is written by us.
func (r *Reconciler) setup(m manager.Manager, workers int) error {
	b := builder.ControllerManagedBy(m).Named("databasecluster").
		For(&v1alpha1.DatabaseCluster{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.DatabaseCluster{}, r.deletions()).
		WatchesRawSource(source.Channel(r.returned.wake, &handler.EnqueueRequestForObject{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers})
	for _, kind := range watchedKinds() {
		wakes := clusterOf
		if kind.Kind != "ConfigMap" { // records are written by us
			wakes = r.touched
		}
		b = b.WatchesMetadata(kind, handler.EnqueueRequestsFromMapFunc(wakes))
	}
	c, err := b.Build(r)
	if err != nil {
		return fmt.Errorf("watch clusters: %w", err)
	}
	r.offered.fill = func(ctx context.Context) error {
		_, err := m.GetCache().GetInformer(ctx, &v1alpha1.DatabaseBackup{})
		return err
	}
	r.offered.wake = func() error {
		return c.Watch(legible{source.Kind(m.GetCache(), &v1alpha1.DatabaseBackup{},
			handler.TypedEnqueueRequestsFromMapFunc(askedOf), unanswered())})
	}
	return nil
}

// legible is a source that has a name in the log. One that is watched after
// the start is logged as it is, and functions in it can't be written as JSON.
type legible struct{ source.SyncingSource }

// LogValue implements slog.LogValuer.
func (s legible) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(s.SyncingSource)) }

// touched is clusterOf for what a cluster consists of.
func (r *Reconciler) touched(ctx context.Context, o client.Object) []reconcile.Request {
	out := clusterOf(ctx, o)
	for _, req := range out {
		r.trackers.touch(req.NamespacedName)
	}
	return out
}

// askedOf is the cluster that an object asks a backup of.
func askedOf(_ context.Context, b *v1alpha1.DatabaseBackup) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: b.Namespace, Name: b.Spec.Cluster}}}
}

// unanswered lets objects wake somebody that come or go and have no last
// answer yet. Their status is written by us.
func unanswered() predicate.TypedPredicate[*v1alpha1.DatabaseBackup] {
	return predicate.TypedFuncs[*v1alpha1.DatabaseBackup]{
		CreateFunc: func(e event.TypedCreateEvent[*v1alpha1.DatabaseBackup]) bool { return !answered(e.Object) },
		UpdateFunc: func(e event.TypedUpdateEvent[*v1alpha1.DatabaseBackup]) bool {
			return !answered(e.ObjectNew) && e.ObjectOld.Generation != e.ObjectNew.Generation
		},
		DeleteFunc: func(e event.TypedDeleteEvent[*v1alpha1.DatabaseBackup]) bool { return !answered(e.Object) },
	}
}

// clusterOf is the cluster that an object belongs to.
func clusterOf(_ context.Context, o client.Object) []reconcile.Request {
	name := o.GetLabels()[v1alpha1.LabelCluster]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}}}
}
