package operator

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
)

// When an operator comes back without being woken.
const (
	idleEvery = 5 * time.Minute // a cluster that is well: only its members know who leads
	// between two such, of whichever cluster: with more than 200 it takes longer to come round
	idlePace   = 1500 * time.Millisecond
	idleMost   = 30 * time.Minute // but never longer
	sickEvery  = 10 * time.Second // one that is not, and for which nothing can be done
	busyEvery  = 3 * time.Second  // one that somebody else acts on
	lookPause  = 2 * time.Second  // at least between two observations, however often pods change
	goneFor    = 5 * time.Second  // before a missing custom resource is missing: it may be replaced
	lookWithin = 30 * time.Second // one observation
)

// What comes first when many are due. An operation that began goes before one
// that did not: the fewer are under way at a time, the fewer leases have to be
// kept and waits managed. How one ended is told before another begins. A
// read a cluster that nobody asked for comes last, as what was there when
// the operator began does.
const (
	underWay  = 10
	unhurried = handler.LowPriority
)

// Reconciler manages custom resources: one step at a time, each decided in package ops.
type Reconciler struct {
	// Custom reads custom resources from a cache and writes their status; Fresh asks the API server.
	Custom client.Client
	Fresh  client.Reader
	Store  store.Store
	Events events.EventRecorder
	// Kept is what is there of a cluster whose record is missing or damaged. It asks the API server.
	Kept func(ctx context.Context, namespace, cluster string) (store.Kept, error)
	// Runner makes what performs operations of an engine's clusters.
	Runner  func(e engine.Engine, wanted *v1alpha1.DatabaseCluster, reporter ops.Reporter) *runner.Runner
	Engines []engine.Engine
	// Definition is the UID of the definition of custom resources; "" if there is
	// none, it is being deleted, or may not be read. It asks the API server.
	Definition func(context.Context) (string, error)
	// HelperImage is the image of this tool, which new clusters of engines with agents take.
	HelperImage string
	// Operator is the heartbeat lease, for status.
	Operator string

	gauges   *gauges
	trackers trackers
	returned *returned
	offered  *offered
}

// Reconcile takes one step for one cluster.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	v := &reconciliation{Reconciler: r, key: req.NamespacedName, tracker: r.trackers.of(req.NamespacedName)}
	again, err := v.pay(ctx)
	if ctx.Err() != nil {
		v.tracker.close(ctx)
		err = nil // it is the end, and no failure
	}
	return reconcile.Result{RequeueAfter: again, Priority: new(v.priority())}, err
}

// priority is that of the next visit, unless something wakes it before.
func (v *reconciliation) priority() int {
	switch {
	case v.tracker.session != nil, v.over:
		return underWay
	case v.well:
		return unhurried
	}
	return 0
}

func (r *Reconciler) closeAll(ctx context.Context) {
	r.trackers.mu.Lock()
	defer r.trackers.mu.Unlock()
	for _, m := range r.trackers.all {
		m.close(ctx)
	}
}

func (r *Reconciler) engine(name string) (engine.Engine, error) {
	for _, e := range r.Engines {
		if e.Name() == name {
			return e, nil
		}
	}
	return nil, &engine.Refusal{Check: "engine", Reason: fmt.Sprintf("this operator does not know engine %q", name),
		Hint: "is a newer operator needed?"}
}
