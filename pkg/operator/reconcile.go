package operator

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// When an operator comes back without being woken.
const (
	idleEvery  = 5 * time.Minute  // a cluster that is well: only its members know who leads
	sickEvery  = 10 * time.Second // one that is not, and for which nothing can be done
	busyEvery  = 3 * time.Second  // one that somebody else acts on
	lookPause  = 2 * time.Second  // at least between two looks, however often pods change
	goneFor    = 5 * time.Second  // before a missing custom resource counts as deleted
	lookWithin = 30 * time.Second // one look
)

// Reconciler looks after custom resources: one step at a time, each decided in package ops.
type Reconciler struct {
	// Custom reads custom resources from a cache and writes their status; Fresh asks the API server.
	Custom client.Client
	Fresh  client.Reader
	Store  kube.Store
	Events events.EventRecorder
	// Runner makes what performs operations of an engine's clusters.
	Runner  func(e engine.Engine, wanted *v1alpha1.DatabaseCluster, reporter ops.Reporter) *ops.Runner
	Engines []engine.Engine
	// Served says whether custom resources can be made at all.
	Served func(context.Context) (bool, error)
	// Operator is the heartbeat lease, for status.
	Operator string

	gauges *gauges
	minds  minds
}

// Reconcile takes one step for one cluster.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	v := &visit{Reconciler: r, key: req.NamespacedName, mind: r.minds.of(req.NamespacedName)}
	again, err := v.pay(ctx)
	if ctx.Err() != nil {
		v.mind.close(ctx)
		err = nil // it is the end, and no failure
	}
	return reconcile.Result{RequeueAfter: again}, err
}

func (r *Reconciler) closeAll(ctx context.Context) {
	r.minds.mu.Lock()
	defer r.minds.mu.Unlock()
	for _, m := range r.minds.all {
		m.close(ctx)
	}
}

func (r *Reconciler) engine(name string) (engine.Engine, error) {
	for _, e := range r.Engines {
		if e.Name() == name {
			return e, nil
		}
	}
	return nil, &engine.Refusal{Check: "engine", Reason: fmt.Sprintf("this operator does not know engine %q", name), Hint: "is a newer operator needed?"}
}

// visit is one reconcile.
type visit struct {
	*Reconciler
	key    types.NamespacedName
	mind   *mind
	custom *v1alpha1.DatabaseCluster
	charge ops.Charge
	report sheet
}

// pay reads, asks what comes next, and does it.
func (v *visit) pay(ctx context.Context) (time.Duration, error) {
	if err := v.read(ctx, v.Custom); err != nil {
		return 0, err
	}
	about := v.about()
	if wait := v.mind.waits(time.Now(), about); wait > 0 {
		return wait, nil
	}
	again, err := v.move(ctx)
	switch {
	case ctx.Err() != nil:
		return 0, err
	case err == nil:
		v.mind.well()
	default:
		v.mind.close(ctx)
		again = v.mind.fail(time.Now(), v.about())
		v.fail(err)
	}
	if err := v.publish(ctx); err != nil && !apierrors.IsNotFound(err) {
		return 0, err
	}
	return again, nil
}

// read gathers what is decided upon. While an operation is in the works its
// session knows the record.
func (v *visit) read(ctx context.Context, from client.Reader) error {
	c := &v1alpha1.DatabaseCluster{}
	err := from.Get(ctx, v.key, c)
	switch {
	case apierrors.IsNotFound(err):
		c = nil
	case err != nil:
		return fmt.Errorf("read databasecluster %s: %w", v.key, err)
	}
	v.custom = c
	v.charge = ops.Charge{Custom: c, Served: true}
	if s := v.mind.session; s != nil && s.Seen().Cluster != nil {
		v.charge.Record, v.charge.Active = s.Seen().Cluster, s.Operation()
		return nil
	}
	if v.charge.Record, err = v.Store.GetCluster(ctx, v.key.Namespace, v.key.Name); err != nil && !errors.Is(err, kube.ErrNotFound) {
		return err
	}
	if v.charge.Active, err = v.Store.ActiveOperation(ctx, v.key.Namespace, v.key.Name); err != nil {
		return err
	}
	return nil
}

// about is what a failure is about: as long as that is the same, trying again is in no hurry.
func (v *visit) about() string {
	out := ""
	if v.custom != nil {
		out = fmt.Sprintf("%s %d", v.custom.UID, v.custom.Generation)
	}
	return out
}

// move does what Govern says.
func (v *visit) move(ctx context.Context) (time.Duration, error) {
	if v.charge.Custom == nil {
		if again, err := v.bereaved(ctx); again > 0 || err != nil {
			return again, err
		}
	} else {
		v.mind.gone = time.Time{}
	}
	m, err := ops.Govern(v.charge)
	if m.Request != nil && v.mind.session == nil && v.charge.Custom != nil {
		// What is new is decided on the newest there is, not on a cache.
		if err := v.read(ctx, v.Fresh); err != nil {
			return 0, err
		}
		m, err = ops.Govern(v.charge)
	}
	if err != nil {
		if m.Rest {
			v.mind.close(ctx)
			return 0, err
		}
		again, lookErr := v.look(ctx, true)
		if v.mind.session != nil {
			return again, lookErr // what can't be wanted does not keep it from being mended
		}
		return 0, errors.Join(err, lookErr)
	}
	if v.mind.session != nil && (!m.Continue || m.Back) {
		v.mind.close(ctx)
	}
	switch {
	case m.Rest:
		v.rest(ctx)
		return 0, nil
	case m.Link, m.Inherit:
		return time.Millisecond, v.write(ctx, m)
	case m.Continue && v.mind.session != nil:
		return v.turn(ctx)
	case m.Continue:
		return v.open(ctx, nil, m.Back)
	case m.Request != nil:
		return v.open(ctx, m.Request, false)
	}
	return v.look(ctx, false)
}

// rest leaves a cluster alone.
func (v *visit) rest(ctx context.Context) {
	v.mind.close(ctx)
	if v.custom == nil {
		v.gauges.forget(v.key)
		v.minds.forget(v.key)
		return
	}
	v.report.paused = v.custom.Spec.Paused
}

// bereaved makes sure that a custom resource is gone, and that its kind is not.
func (v *visit) bereaved(ctx context.Context) (time.Duration, error) {
	if v.charge.Record == nil || v.charge.Record.Annotations[v1alpha1.AnnotationCustom] == "" {
		return 0, nil
	}
	if v.mind.gone.IsZero() {
		v.mind.gone = time.Now()
	}
	if left := goneFor - time.Since(v.mind.gone); left > 0 {
		return left, nil
	}
	served, err := v.Served(ctx)
	if err != nil {
		return 0, err
	}
	if !served {
		v.charge.Served = false
		return 0, nil
	}
	if err := v.read(ctx, v.Fresh); err != nil {
		return 0, err
	}
	return 0, nil
}

// write makes the record say whose the cluster is, or what counts from now on.
func (v *visit) write(ctx context.Context, m ops.Move) error {
	c := v.charge.Record.DeepCopy()
	if m.Link {
		if c.Annotations == nil {
			c.Annotations = map[string]string{}
		}
		c.Annotations[v1alpha1.AnnotationCustom] = string(v.custom.UID)
	}
	if m.Inherit {
		ops.Inherit(v.custom.Spec, c)
	}
	err := v.Store.UpdateCluster(ctx, c)
	if errors.Is(err, kube.ErrConflict) {
		return nil // read again
	}
	return err
}

// open takes the lease, and the first turn.
func (v *visit) open(ctx context.Context, req *ops.Request, back bool) (time.Duration, error) {
	e, err := v.engineOf(req)
	if err != nil {
		return 0, err
	}
	var wanted *v1alpha1.DatabaseCluster
	if req != nil {
		wanted = req.Cluster
		if err := ops.Complete(req, time.Now(), rand.Reader); err != nil {
			return 0, err
		}
	}
	s, err := v.Runner(e, wanted, v.narrator()).Open(ctx, v.key.Namespace, v.key.Name, req, back)
	switch ops.KindOf(err) {
	case ops.Busy:
		v.report.busy(err)
		return busyEvery, nil
	case ops.Unchanged:
		return time.Millisecond, nil
	}
	if err != nil {
		return 0, err
	}
	v.mind.session = s
	return v.turn(ctx)
}

func (v *visit) engineOf(req *ops.Request) (engine.Engine, error) {
	switch {
	case req != nil && req.Cluster != nil:
		return v.engine(req.Cluster.Spec.Engine)
	case v.charge.Record != nil:
		return v.engine(v.charge.Record.Spec.Engine)
	case v.custom != nil:
		return v.engine(v.custom.Spec.Engine)
	}
	return v.Engines[0], nil // only a record is left to close, which any engine can do
}

// turn is one step of the operation in the works.
func (v *visit) turn(ctx context.Context) (time.Duration, error) {
	s := v.mind.session
	done, again, err := s.Next(ctx)
	e, engineErr := v.engineOf(nil)
	if engineErr == nil {
		v.report.saw(e, s.Seen(), s.Why())
	}
	if err != nil {
		return 0, err
	}
	if done {
		v.mind.close(ctx)
		v.mind.looked = time.Time{}
		return time.Millisecond, nil
	}
	return max(again, time.Millisecond), nil
}

// look sees how a cluster is that nobody works on, and has mended what can be;
// not too often, unless it has to be now.
func (v *visit) look(ctx context.Context, now bool) (time.Duration, error) {
	c := v.charge.Record
	if c == nil {
		return 0, nil
	}
	if since := time.Since(v.mind.looked); since < lookPause && !now {
		v.report.skip = true
		return lookPause - since, nil
	}
	e, err := v.engine(c.Spec.Engine)
	if err != nil {
		return 0, err
	}
	v.mind.looked = time.Now()
	s, err := v.observe(ctx, e)
	if err != nil {
		return 0, err
	}
	v.report.saw(e, s, "")
	o, err := ops.Heal(e, s, nil)
	if o == nil && err == nil {
		if ops.Assess(e, s).Level == ops.Healthy {
			return idleEvery, nil
		}
		return sickEvery, nil
	}
	history, err := v.Store.ListOperations(ctx, v.key.Namespace, v.key.Name)
	if err != nil {
		return 0, err
	}
	if o, err = ops.Heal(e, s, history); err != nil {
		return 0, err
	}
	return v.open(ctx, &ops.Request{Operation: *o}, false)
}

func (v *visit) observe(ctx context.Context, e engine.Engine) (ops.State, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	world := v.Runner(e, nil, ops.Silent{}).World(v.key.Namespace, v.key.Name)
	defer func() { _ = world.Close() }()
	return world.Observe(ctx)
}
