package operator

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/policy"
)

// definedEvery is how often an operator that may not read the definition of its
// kind tries again, for each cluster.
const definedEvery = 2 * time.Minute

// pair is a custom resource and the record that belongs to it, by their UIDs.
type pair struct{ custom, record types.UID }

// pairOf is the custom resource that a record names, and that record.
func pairOf(record *v1alpha1.DatabaseCluster) pair {
	return pair{types.UID(record.Annotations[v1alpha1.AnnotationCustom]), record.UID}
}

// compare notes which record a custom resource has while both are there, and
// recognizes the object once it was deleted before this process's eyes. A record
// that was put back since, under the same name, is another one.
func (m *tracker) compare(g *policy.Input) {
	switch d := m.deleted.Load(); {
	case g.Record == nil:
	case g.Custom != nil && pairOf(g.Record).custom == g.Custom.UID:
		m.linked = pairOf(g.Record)
	case g.Custom == nil && d != nil && d.UID == m.linked.custom && m.linked == pairOf(g.Record):
		g.Deleted = d
	}
}

// unlinked reports whether the record does not say yet which definition served
// its custom resource, and it is time to ask.
func (m *tracker) unlinked(g policy.Input) bool {
	if m.session != nil || g.Custom == nil || g.Record == nil || pairOf(g.Record).custom != g.Custom.UID ||
		g.Record.Annotations[v1alpha1.AnnotationDefinition] != "" || time.Since(m.defined) < definedEvery {
		return false
	}
	m.defined = time.Now()
	return true
}

// Deleted takes notice of a custom resource that was deleted, as it was then. It
// is for what a watch tells as it happens; an object that a list no longer has
// may be missing for other reasons.
func (r *Reconciler) Deleted(c *v1alpha1.DatabaseCluster) {
	r.trackers.mu.Lock()
	defer r.trackers.mu.Unlock()
	if m := r.trackers.all[client.ObjectKeyFromObject(c)]; m != nil {
		m.deleted.Store(c)
	}
}

// deletions has deleted custom resources noticed, before their clusters are observed.
func (r *Reconciler) deletions() handler.EventHandler {
	return handler.Funcs{DeleteFunc: func(_ context.Context, e event.DeleteEvent,
		q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		if c, ok := e.Object.(*v1alpha1.DatabaseCluster); ok && !e.DeleteStateUnknown {
			r.Deleted(c.DeepCopy())
		}
		q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)})
	}}
}
