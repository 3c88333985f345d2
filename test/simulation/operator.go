package simulation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/operator"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
)

// decided is one cluster under a custom resource: a person edits the object,
// and processes of the reconciler, the very code of package operator, do the rest.
type decided struct {
	person *person
	key    types.NamespacedName
	// api is where the custom resource is; made counts those of this name.
	api  client.WithWatch
	made int
	// ending is what was wanted last of a cluster that nobody wants any more.
	ending *v1alpha1.DatabaseClusterSpec
}

func (p *person) decided(name string) *decided {
	s := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(s); err != nil {
		panic(err) // types that are compiled in
	}
	return &decided{person: p, key: types.NamespacedName{Namespace: Namespace, Name: name},
		api: fake.NewClientBuilder().WithScheme(s).WithStatusSubresource(&v1alpha1.DatabaseCluster{}).Build()}
}

// get is the custom resource; nil if there is none.
func (g *decided) get() *v1alpha1.DatabaseCluster {
	c := &v1alpha1.DatabaseCluster{}
	if g.api.Get(context.Background(), g.key, c) != nil {
		return nil
	}
	return c
}

// edit changes what is wanted, makes the object if there is none, and deletes
// it if nothing is wanted.
func (g *decided) edit(spec *v1alpha1.DatabaseClusterSpec) {
	c := g.get()
	var err error
	switch {
	case spec == nil:
		g.ending = c.Spec.DeepCopy() // a deletion counts where an operator sees it: see end
	case c == nil:
		g.made++
		c = &v1alpha1.DatabaseCluster{Spec: *spec.DeepCopy()}
		c.Namespace, c.Name, c.UID, c.Generation = g.key.Namespace, g.key.Name,
			types.UID(fmt.Sprintf("%s-%d", g.key.Name, g.made)), 1
		err = g.api.Create(context.Background(), c)
	default:
		c.Spec = *spec.DeepCopy()
		c.Generation++
		err = g.api.Update(context.Background(), c)
	}
	if err != nil {
		defer g.person.world.lock()()
		g.person.world.violate("edit %s: %v", g.key.Name, err)
	}
}

// at rest is a cluster of which nothing is left to do; stalled says why one
// can't become as wanted.
func (g *decided) atRest() (rest bool, stalled string) {
	defer g.person.world.lock()()
	r := &g.person.world.records
	c := g.get()
	if c == nil {
		return r.clusters[g.key.Name] == nil && !r.busy(g.key.Name), ""
	}
	for _, x := range c.Status.Conditions {
		if x.Type == "Stalled" && x.Status == "True" && x.ObservedGeneration == c.Generation {
			stalled = x.Reason + ": " + x.Message
		}
	}
	if g.ending != nil {
		return false, stalled
	}
	calm := meta.IsStatusConditionTrue(c.Status.Conditions, "Ready") || r.clusters[g.key.Name] != nil &&
		r.clusters[g.key.Name].Spec.Stopped && c.Status.Summary == "stopped"
	return calm && stalled == "" && c.Status.ObservedGeneration == c.Generation && !r.busy(g.key.Name), stalled
}

var errStalled = errors.New("it is stalled")

// operate runs processes of the operator, each until it dies, until nothing is
// left to do. A cluster that is stalled for good ends it early if that is asked for.
func (g *decided) operate(within time.Duration, orStalled bool) error {
	for began := time.Now(); ; {
		err := g.person.launch(func(ctx context.Context, a *actor) error {
			r, deleted := g.reconciler(a), time.Time{}
			for {
				g.end(r, &deleted)
				again, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: g.key})
				if err != nil {
					again.RequeueAfter = time.Second // a manager's queue does so too
				}
				rest, stalled := g.atRest()
				switch {
				case rest:
					return nil
				case stalled != "" && orStalled:
					return fmt.Errorf("%w: %s", errStalled, stalled)
				case time.Since(began) > within:
					return fmt.Errorf("after %s it is not at rest: %s", within, stalled)
				}
				// Whatever changes wakes a reconciler; nobody is woken here.
				if err := a.sleep(ctx, min(max(again.RequeueAfter, time.Millisecond), 10*time.Second)); err != nil {
					return err
				}
			}
		})
		if !errors.Is(err, errDead) && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
}

// end deletes the object of a cluster that nobody wants any more, while an
// operator watches that has seen it with its record. Where one died before it
// wrote that down, the object is applied again and deleted again, as the
// operator asks for.
func (g *decided) end(r *operator.Reconciler, deleted *time.Time) {
	if g.ending == nil {
		return
	}
	linked, confirmed := g.linked()
	switch c := g.get(); {
	case linked == "" || confirmed:
	case c == nil && time.Since(*deleted) > time.Minute:
		g.edit(g.ending)
	case c != nil && linked == c.UID && deleted.IsZero():
		*deleted = time.Now() // it is checked once more, by this process, before
	case c != nil && linked == c.UID:
		if err := g.api.Delete(context.Background(), c); err == nil {
			*deleted = time.Now()
			r.Deleted(c)
		}
	}
}

// linked is the custom resource that the record names, "" without a record, and
// whether it was written down that it was deleted.
func (g *decided) linked() (types.UID, bool) {
	defer g.person.world.lock()()
	c := g.person.world.records.clusters[g.key.Name]
	if c == nil {
		return "", false
	}
	return types.UID(c.Annotations[v1alpha1.AnnotationCustom]), c.Status.Deletion != nil
}

// reconciler is the production code around a process.
func (g *decided) reconciler(a *actor) *operator.Reconciler {
	faulty := interceptor.NewClient(g.api, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			return a.call(ctx, "read the custom resource", func() error { return c.Get(ctx, key, o, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch,
			opts ...client.SubResourcePatchOption) error {
			return a.call(ctx, "write the status", func() error { return c.SubResource(sub).Patch(ctx, o, p, opts...) })
		},
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error {
			a.world.violate("the operator writes what is wanted of %s", g.key.Name)
			return nil
		},
	})
	return &operator.Reconciler{
		Custom: faulty, Fresh: faulty, Store: recordStore{a}, Events: &events.FakeRecorder{},
		Engines:    []engine.Engine{a.world.engine},
		Definition: func(context.Context) (string, error) { return "definition", nil },
		Kept:       func(context.Context, string, string) (store.Kept, error) { return store.Kept{}, nil },
		Runner: func(engine.Engine, *v1alpha1.DatabaseCluster, ops.Reporter) *runner.Runner {
			r := a.runner(g.person.decide)
			r.Stop = nil
			return r
		},
	}
}
