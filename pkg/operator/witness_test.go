package operator

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// purging is a cluster of three whose object asks for its data to be dropped
// with it: whatever is taken for its deletion costs everything.
func purging(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	b.custom(func(c *v1alpha1.DatabaseCluster) { c.Spec.DeletionPolicy = v1alpha1.DeletionPurge })
	b.settle(idleEvery)
	return b
}

// untouched has the operator search for ten minutes, and wants nothing done.
func (b *bench) untouched() {
	b.t.Helper()
	for began := time.Now(); time.Since(began) < 10*time.Minute; {
		time.Sleep(max(b.once(), time.Second))
	}
	if got := b.verbs(); got != "create Succeeded" || b.record() == nil {
		b.t.Errorf("%s; the record is %v", got, b.record())
	}
	told := ""
	for len(b.events.Events) > 0 {
		if e := <-b.events.Events; strings.Contains(e, "CustomResourceMissing") {
			told = e
		}
	}
	for _, want := range []string{"-n shop operator release db", "kubectl dbop -n shop delete db",
		"apply the object again"} {
		if !strings.Contains(told, want) {
			b.t.Errorf("%q is not in the event %q", want, told)
		}
	}
}

// TestMissingEndsNothing: whatever takes an object away but its own deletion, seen
// as it happened, leaves the database and its volumes alone.
func TestMissingEndsNothing(t *testing.T) {
	t.Parallel()
	remove := func(b *bench) *v1alpha1.DatabaseCluster {
		c := b.get()
		if err := b.api.Delete(b.t.Context(), c); err != nil {
			b.t.Fatal(err)
		}
		return c
	}
	for name, lose := range map[string]func(*bench){
		"nobody watched": func(b *bench) { remove(b) },
		"the operator was away": func(b *bench) {
			remove(b)
			b.begin()
		},
		"the definition is being deleted": func(b *bench) {
			b.delete()
			b.definition = ""
		},
		"the definition was created again": func(b *bench) {
			b.delete()
			b.definition = "second"
		},
		"the definition goes and comes back": func(b *bench) {
			b.definition = ""
			b.delete()
			b.once()
			time.Sleep(2 * goneFor)
			b.once()
			b.definition = "second"
		},
		"another object of its name was deleted": func(b *bench) {
			c := remove(b)
			c.UID = "another"
			b.r.Deleted(c)
		},
		"the record was put back since, from a copy": func(b *bench) {
			b.delete()
			c := b.record()
			if err := b.store.DeleteCluster(b.t.Context(), c); err != nil {
				b.t.Fatal(err)
			}
			c.UID, c.ResourceVersion = "copy", ""
			if err := b.store.CreateCluster(b.t.Context(), c); err != nil {
				b.t.Fatal(err)
			}
		},
		"the operator died before it wrote that down": func(b *bench) {
			b.delete()
			b.begin()
		},
		"a tool pruned it": func(b *bench) {
			b.label("argocd.argoproj.io/instance", "shop")
			b.delete()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := purging(t)
				lose(b)
				b.untouched()
				// Applied again it goes on, and what differs becomes ordinary operations.
				b.again("second", func(c *v1alpha1.DatabaseCluster) { c.Spec.Members = 5 })
				time.Sleep(lastDelay)
				b.settle(idleEvery)
				if got := b.verbs(); got != "create Succeeded, scale Succeeded" {
					t.Error(got)
				}
				b.is("True Healthy", "False Settled", "False NotStalled")
			})
		})
	}
}

func (b *bench) label(name, value string) {
	b.t.Helper()
	c := b.get()
	c.Labels = map[string]string{name: value}
	if err := b.api.Update(b.t.Context(), c); err != nil {
		b.t.Fatal(err)
	}
}

// TestDeletionSurvivesTheOperator: once a deletion is written down, the process that comes
// next ends the database, whatever became of the definition.
func TestDeletionSurvivesTheOperator(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := purging(t)
		b.delete()
		for b.record().Status.Deletion == nil {
			time.Sleep(max(b.once(), time.Millisecond))
		}
		if got := b.verbs(); got != "create Succeeded" {
			t.Fatalf("%s before it was written down why", got)
		}
		b.definition = ""
		for range 100 {
			b.begin()
			if b.record() == nil && !strings.Contains(b.verbs(), "Running") {
				break
			}
			time.Sleep(max(b.once(), goneFor))
		}
		if got := b.verbs(); got != "create Succeeded, delete Succeeded" {
			t.Error(got)
		}
	})
}

// TestReplacedObjectGoesOn: 'kubectl replace --force' deletes an object and makes
// another one in the same moment.
func TestReplacedObjectGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := purging(t)
		b.delete()
		b.again("second", nil)
		b.settle(idleEvery)
		if got := b.verbs(); got != "create Succeeded" || b.record().Annotations[v1alpha1.AnnotationCustom] != "second" {
			t.Errorf("%s, %v", got, b.record().Annotations)
		}
	})
}

// stale is a cache that has not noticed yet that an object is gone.
type stale struct {
	client.WithWatch

	object *v1alpha1.DatabaseCluster
}

func (s stale) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if c, ok := o.(*v1alpha1.DatabaseCluster); ok {
		s.object.DeepCopyInto(c)
	}
	return nil
}

// TestLinkIsNotMadeFromACache: a definition that was created again must not be
// written down for an object of the one before, which a cache still knows.
func TestLinkIsNotMadeFromACache(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := purging(t)
		c := b.record()
		delete(c.Annotations, v1alpha1.AnnotationDefinition)
		if err := b.store.UpdateCluster(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		before := b.get()
		if err := b.api.Delete(t.Context(), before); err != nil {
			t.Fatal(err)
		}
		b.definition = "second"
		b.begin()
		b.r.Custom = stale{b.api, before}
		b.once()
		b.r.Custom = b.api
		b.r.Deleted(before)
		b.untouched()
		if got := b.record().Annotations[v1alpha1.AnnotationDefinition]; got != "" {
			t.Errorf("linked to definition %q", got)
		}
	})
}

// TestDeletionsAreWhatAWatchTells: an object that a list no longer has was not seen being deleted.
func TestDeletionsAreWhatAWatchTells(t *testing.T) {
	t.Parallel()
	for _, unknown := range []bool{false, true} {
		r := &Reconciler{}
		key := types.NamespacedName{Namespace: "shop", Name: "db"}
		m := r.trackers.of(key)
		c := &v1alpha1.DatabaseCluster{}
		c.Namespace, c.Name = key.Namespace, key.Name
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		r.deletions().Delete(context.Background(), event.DeleteEvent{Object: c, DeleteStateUnknown: unknown}, q)
		if got := m.deleted.Load() != nil; got == unknown || q.Len() != 1 {
			t.Errorf("unknown %v: noticed %v, %d woken", unknown, got, q.Len())
		}
		q.ShutDown()
	}
}
