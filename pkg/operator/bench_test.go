package operator

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
)

// bench is an operator over a fake API server and a database that does what
// plans predict. It belongs into a bubble of synctest: waiting costs nothing.
type bench struct {
	t      *testing.T
	key    types.NamespacedName
	api    client.WithWatch
	store  store.Store
	events *events.FakeRecorder
	r      *Reconciler
	world  *world
	// lockErr is why the cluster's lease can't be had.
	lockErr error
	// definition is the UID of that of its kind.
	definition string

	// fuse counts the writes until the operator dies: right before the last one,
	// or, with late set, right after it. 0 for never. With deaf set it lives on,
	// and the answer is lost.
	fuse       int
	late, deaf bool

	mu     sync.Mutex
	writes []string
	// lists is how many requests asked for a list.
	lists int
}

func newBench(t *testing.T) *bench {
	t.Helper()
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, key: types.NamespacedName{Namespace: "shop", Name: "db"}, events: events.NewFakeRecorder(1000),
		definition: "first"}
	claim := &corev1.PersistentVolumeClaim{}
	claim.Namespace, claim.Name = b.key.Namespace, "backups"
	b.api = interceptor.NewClient(fake.NewClientBuilder().WithScheme(
		scheme).WithObjects(claim).WithStatusSubresource(&v1alpha1.DatabaseCluster{},
		&v1alpha1.DatabaseBackup{}).Build(), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return b.write("create "+o.GetName(), func() error { return c.Create(ctx, o, opts...) })
		},
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			b.lists++
			return c.List(ctx, l, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return b.write("update "+o.GetName(), func() error { return c.Update(ctx, o, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch,
			opts ...client.SubResourcePatchOption) error {
			return b.write(sub+" "+o.GetName(), func() error { return c.SubResource(sub).Patch(ctx, o, p, opts...) })
		},
	})
	b.store = store.NewConfigMaps(kube.Wrap(b.api, kube.Options{}))
	b.world = &world{b: b}
	b.begin()
	return b
}

// begin starts an operator that remembers nothing.
func (b *bench) begin() {
	b.r = &Reconciler{
		Custom: b.api, Fresh: b.api, Store: b.store, Events: b.events, Engines: []engine.Engine{opstest.Engine{}},
		gauges: newGauges(),
		Kept: func(ctx context.Context, namespace string, name string) (store.Kept, error) {
			return store.FindKept(ctx, kube.Wrap(b.api, kube.Options{}), namespace, name)
		},
		Definition: func(context.Context) (string, error) { return b.definition, nil },
		Runner: func(e engine.Engine, _ *v1alpha1.DatabaseCluster, reporter ops.Reporter) *runner.Runner {
			return &runner.Runner{Engine: e, Store: b.store, Reporter: reporter, Poll: time.Second,
				Cluster: func(string, string) ops.ClosableCluster { return b.world },
				Lock: func(context.Context, string, string, lease.Scope, func(string, time.Duration)) (lease.Lease, error) {
					return leaseRecord{}, b.lockErr
				}}
		},
		offered: &offered{},
	}
	b.r.offered.yes.Store(true)
}

// death is what a dying operator panics with.
type death struct{}

// write lets a write through, unless the operator dies at it.
func (b *bench) write(what string, do func() error) error {
	b.mu.Lock()
	b.writes = append(b.writes, what)
	b.fuse--
	dies := b.fuse == 0
	b.mu.Unlock()
	if !dies {
		return do()
	}
	if b.late {
		_ = do()
	}
	if b.deaf {
		return apierrors.NewServerTimeout(schema.GroupResource{Resource: "configmaps"}, "write", 0)
	}
	panic(death{})
}

// mortal reconciles one time; an operator that dies is followed by another.
func (b *bench) mortal() (again time.Duration, died bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, died = r.(death); !died {
				panic(r)
			}
			b.begin()
		}
	}()
	return b.once(), false
}

// custom makes the custom resource of three members.
func (b *bench) custom(change func(*v1alpha1.DatabaseCluster)) {
	b.t.Helper()
	c := &v1alpha1.DatabaseCluster{Spec: v1alpha1.DatabaseClusterSpec{Engine: "fakedb", Version: "3.6.2", Members: 3}}
	c.Namespace, c.Name, c.UID, c.Generation = b.key.Namespace, b.key.Name, "one", 1
	if change != nil {
		change(c)
	}
	if err := b.api.Create(b.t.Context(), c); err != nil {
		b.t.Fatal(err)
	}
}

// edit changes what is wanted.
func (b *bench) edit(change func(*v1alpha1.DatabaseClusterSpec)) {
	b.t.Helper()
	c := b.get()
	change(&c.Spec)
	c.Generation++
	if err := b.api.Update(b.t.Context(), c); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) get() *v1alpha1.DatabaseCluster {
	b.t.Helper()
	c := &v1alpha1.DatabaseCluster{}
	if err := b.api.Get(b.t.Context(), b.key, c); err != nil {
		b.t.Fatal(err)
	}
	return c
}

// delete deletes the object while the operator watches.
func (b *bench) delete() {
	b.t.Helper()
	c := b.get()
	if err := b.api.Delete(b.t.Context(), c); err != nil {
		b.t.Fatal(err)
	}
	b.r.Deleted(c)
}

// again puts an object of that name back, as an apply does.
func (b *bench) again(uid types.UID, change func(*v1alpha1.DatabaseCluster)) {
	b.t.Helper()
	b.custom(func(c *v1alpha1.DatabaseCluster) {
		c.UID = uid
		if change != nil {
			change(c)
		}
	})
}

// record is what the operator wrote down of the cluster; nil if there is nothing.
func (b *bench) record() *v1alpha1.DatabaseCluster {
	c, err := b.store.GetCluster(b.t.Context(), b.key.Namespace, b.key.Name)
	if err != nil {
		return nil
	}
	return c
}

// forget loses the records of all operations, and starts an operator that remembers nothing.
func (b *bench) forget() {
	b.t.Helper()
	if err := b.api.DeleteAllOf(b.t.Context(), &corev1.ConfigMap{}, client.InNamespace(b.key.Namespace),
		client.MatchingLabels{v1alpha1.LabelKind: "operation"}); err != nil {
		b.t.Fatal(err)
	}
	b.begin()
}

// once reconciles one time.
func (b *bench) once() time.Duration {
	b.t.Helper()
	r, err := b.r.Reconcile(b.t.Context(), reconcile.Request{NamespacedName: b.key})
	if err != nil {
		b.t.Fatal(err)
	}
	return r.RequeueAfter
}

// settle reconciles as often as is asked for, until the operator wants to be
// left alone for that long, or for ever.
func (b *bench) settle(enough time.Duration) {
	b.t.Helper()
	for range 200 {
		again := b.once()
		if again == 0 || again >= enough {
			return
		}
		time.Sleep(again)
	}
	b.t.Fatal("it never rests")
}

// is compares the three conditions, Ready, Reconciling and Stalled, with their reasons.
func (b *bench) is(want ...string) {
	b.t.Helper()
	var got []string
	for _, kind := range []string{conditionReady, conditionReconciling, conditionStalled} {
		c := meta.FindStatusCondition(b.get().Status.Conditions, kind)
		if c == nil {
			got = append(got, "none")
			continue
		}
		got = append(got, string(c.Status)+" "+c.Reason)
	}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		b.t.Errorf("conditions %q, want %q (%s)", got, want, b.message(conditionStalled))
	}
}

func (b *bench) message(condition string) string {
	if c := meta.FindStatusCondition(b.get().Status.Conditions, condition); c != nil {
		return c.Message
	}
	return ""
}

// verbs are the operations on record, oldest first, with their phases.
func (b *bench) verbs() string {
	b.t.Helper()
	records, err := b.store.ListOperations(b.t.Context(), b.key.Namespace, b.key.Name)
	if err != nil {
		b.t.Fatal(err)
	}
	var out []string
	for _, o := range slices.Backward(records) {
		out = append(out, string(o.Spec.Verb)+" "+string(o.Status.Phase))
	}
	return strings.Join(out, ", ")
}

// world does what plans predict.
type world struct {
	b     *bench
	facts observe.Facts
	view  engine.View
	steps []string
	// job takes a backup.
	job ops.JobState
	// before is asked before each step; an error fails it.
	before func(ops.Step) error
}

func (w *world) Observe(ctx context.Context) (ops.State, error) {
	s := ops.State{Now: time.Now(), Kube: w.facts, View: w.view}
	c, err := w.b.store.GetCluster(ctx, w.b.key.Namespace, w.b.key.Name)
	if errors.Is(err, kube.ErrNotFound) || errors.Is(err, store.ErrDamaged) {
		return s, nil
	}
	s.Cluster = c
	if err != nil || len(w.facts.Members) == 0 {
		return s, err
	}
	n := planner.Predict(opstest.Engine{}, s, ops.Step{Action: ops.ActionWait})
	n.Rendering = c.Spec.Image
	w.pull(&n)
	return n, nil
}

// pull has members without a pod get one of their workload; of an image named
// bad it never starts.
func (w *world) pull(n *ops.State) {
	for i := range n.Kube.Members {
		m := &n.Kube.Members[i]
		if m.Workload.Rendering != "bad" {
			continue
		}
		m.Pod = observe.Pod{Exists: true, Rendering: "bad", Problem: &observe.Problem{Kind: observe.ProblemImage,
			Message: "can't pull bad", Since: n.Now.Add(-time.Hour)}}
		n.View = engine.View{}
	}
}

func (w *world) Perform(ctx context.Context, s ops.State, step ops.Step, _ func(int64, int64)) (ops.Result, error) {
	if w.before != nil {
		if err := w.before(step); err != nil {
			return ops.Result{}, err
		}
	}
	w.steps = append(w.steps, step.ID)
	n := planner.Predict(opstest.Engine{}, s, step)
	if step.Action == ops.ActionStart {
		for i := range n.Kube.Members {
			n.Kube.Members[i].Workload.Rendering = n.Cluster.Spec.Image
		}
	}
	w.facts, w.view = n.Kube, n.View
	done := ops.Result{}
	if s.Operation != nil && n.Operation != nil {
		done.Facts = maps.Clone(n.Operation.Status.Facts)
	}
	if n.Cluster == nil {
		return done, w.b.store.DeleteCluster(ctx, s.Cluster)
	}
	c, err := w.b.store.GetCluster(ctx, w.b.key.Namespace, w.b.key.Name)
	if err != nil {
		return done, err
	}
	c.Status = n.Cluster.Status
	return done, w.b.store.UpdateCluster(ctx, c)
}

func (w *world) Save(ctx context.Context, op *v1alpha1.Operation) error {
	return w.b.store.UpdateOperation(ctx, op)
}

func (w *world) ReadJob(context.Context, *v1alpha1.Operation) (ops.JobState, error) {
	return w.job, nil
}

func (w *world) Changed() <-chan struct{} { return nil }
func (w *world) Close() error             { return nil }

// lease is never lost.
type leaseRecord struct{}

func (leaseRecord) Check(context.Context) error                 { return nil }
func (leaseRecord) Lost() <-chan struct{}                       { return nil }
func (leaseRecord) Release(context.Context) error               { return nil }
func (leaseRecord) Regain(context.Context) (lease.Lease, error) { return nil, lease.ErrLost }
