package operator

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/policy"
)

// TestRecordThatCantBeUsed: where members live and their record was deleted or
// damaged, the operator founds nothing, and names the command that mends it.
func TestRecordThatCantBeUsed(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*bench, *corev1.ConfigMap) error{
		"deleted": func(b *bench, m *corev1.ConfigMap) error {
			b.world.facts = observe.Facts{Leftovers: []string{"statefulset/db-1"}}
			return b.api.Delete(b.t.Context(), m)
		},
		"empty": func(b *bench, m *corev1.ConfigMap) error {
			m.Data["cluster.json"] = "{}"
			return b.api.Update(b.t.Context(), m)
		},
		"without labels": func(b *bench, m *corev1.ConfigMap) error {
			m.Labels = nil
			return b.api.Update(b.t.Context(), m)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := founded(t)
				m := &corev1.ConfigMap{}
				if err := b.api.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "db.dbop"}, m); err != nil {
					t.Fatal(err)
				}
				if err := spoil(b, m); err != nil {
					t.Fatal(err)
				}
				steps := len(b.world.steps)
				for range 10 {
					time.Sleep(b.once())
				}
				if stalled := b.message(conditionStalled); !strings.Contains(stalled, "kubectl dbop") ||
					!strings.Contains(stalled, "repair db") {
					t.Errorf("it says %q", stalled)
				}
				if len(b.world.steps) != steps || b.verbs() != "create Succeeded" {
					t.Errorf("it did %v; operations %s", b.world.steps[steps:], b.verbs())
				}
			})
		})
	}
}

// withObjects makes the volume claims and StatefulSets of the cluster's members.
func (b *bench) withObjects() *v1alpha1.DatabaseCluster {
	b.t.Helper()
	c := b.record()
	for n := 1; n <= 3; n++ {
		name := v1alpha1.MemberName(c.Name, n)
		w := &appsv1.StatefulSet{}
		w.Namespace, w.Name = c.Namespace, name
		w.Labels, w.Annotations = map[string]string{v1alpha1.LabelCluster: c.Name},
			map[string]string{kube.AnnotationClusterID: c.Status.ID}
		err := errors.Join(workload.ApplyVolume(b.t.Context(), kube.Wrap(b.api, kube.Options{}), c, name),
			b.api.Create(b.t.Context(), w))
		if err != nil {
			b.t.Fatal(err)
		}
	}
	return c
}

// TestLostRecordIsWrittenAgain: an operator writes a record again that is lost or
// damaged, where nothing contradicts its copies, and leaves it to a person where
// something does.
func TestLostRecordIsWrittenAgain(t *testing.T) {
	t.Parallel()
	lose := func(b *bench) error { return b.store.DeleteCluster(b.t.Context(), b.record()) }
	edit := func(b *bench, change func(*corev1.PersistentVolumeClaim)) error {
		v := &corev1.PersistentVolumeClaim{}
		err := b.api.Get(b.t.Context(), client.ObjectKey{Namespace: "shop", Name: "db-2"}, v)
		change(v)
		return errors.Join(err, b.api.Update(b.t.Context(), v))
	}
	for name, row := range map[string]struct {
		spoil func(*bench) error
		verbs string
		stays string
	}{
		"lost": {spoil: lose, verbs: "create Succeeded, repair Succeeded"},
		"lost while nobody operated": {spoil: func(b *bench) error {
			defer b.begin()
			return lose(b)
		}, verbs: "create Succeeded, repair Succeeded"},
		"damaged": {spoil: func(b *bench) error {
			m := &corev1.ConfigMap{}
			err := b.api.Get(b.t.Context(), client.ObjectKey{Namespace: "shop", Name: "db.dbop"}, m)
			m.Data["cluster.json"] = "{"
			return errors.Join(err, b.api.Update(b.t.Context(), m))
		}, verbs: "create Succeeded, repair Succeeded"},
		"lost during an operation, which goes on": {spoil: func(b *bench) error {
			b.world.before = func(s ops.Step) error {
				if s.Action == ops.ActionRegister {
					return &ops.Error{Kind: ops.NeedsHuman, Check: "disk", Message: "the disk is full"}
				}
				return nil
			}
			b.edit(func(s *v1alpha1.DatabaseClusterSpec) { s.Members = 5 })
			for range 5 {
				time.Sleep(b.once())
			}
			b.world.before = nil
			return lose(b)
		}, verbs: "create Succeeded, scale Succeeded"},
		"a volume of another cluster": {spoil: func(b *bench) error {
			return errors.Join(lose(b), edit(b,
				func(v *corev1.PersistentVolumeClaim) { v.Annotations[kube.AnnotationClusterID] = "other" }))
		}, verbs: "create Succeeded", stays: "RecordMissing"},
		"a volume without a copy": {spoil: func(b *bench) error {
			return errors.Join(lose(b), edit(b, func(v *corev1.PersistentVolumeClaim) {
				delete(v.Annotations,
					kube.AnnotationRecord)
			}))
		}, verbs: "create Succeeded", stays: "RecordMissing"},
		"the object is another one": {spoil: func(b *bench) error {
			err := errors.Join(lose(b), b.api.Delete(b.t.Context(), b.get()))
			b.again("second", nil)
			return err
		}, verbs: "create Succeeded", stays: "RecordMissing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := founded(t)
				want := b.withObjects()
				if err := row.spoil(b); err != nil {
					t.Fatal(err)
				}
				for range 30 {
					time.Sleep(max(b.once(), time.Millisecond))
				}
				if got := b.verbs(); got != row.verbs {
					t.Errorf("operations %s; stalled: %s", got, b.message(conditionStalled))
				}
				if row.stays != "" {
					b.is("Unknown NotSeen", "False Settled", "True "+row.stays)
					return
				}
				b.is("True Healthy", "False Settled", "False NotStalled")
				got := b.record()
				if got == nil {
					t.Fatal("there is no record")
				}
				if diff := cmp.Diff(want.Status.Bootstrap, got.Status.Bootstrap); diff != "" ||
					got.Status.ID != want.Status.ID ||
					got.Annotations[v1alpha1.AnnotationCustom] != "one" {
					t.Errorf("the record is another: %+v %s", got, diff)
				}
			})
		})
	}
}

// TestRewrittenRecordIsTold: an event tells what was put back without being asked for.
func TestRewrittenRecordIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := founded(t)
		if err := b.store.DeleteCluster(t.Context(), b.withObjects()); err != nil {
			t.Fatal(err)
		}
		for len(b.events.Events) > 0 {
			<-b.events.Events
		}
		for range 10 {
			time.Sleep(max(b.once(), time.Millisecond))
		}
		var told []string
		for len(b.events.Events) > 0 {
			told = append(told, <-b.events.Events)
		}
		for _, want := range []string{"Normal Planned repair: Write the record of the cluster again",
			"Normal Succeeded repair, asked for by " + policy.SelfHealedBy} {
			if !strings.Contains(strings.Join(told, "\n"), want) {
				t.Errorf("%q is not in %s", want, fmt.Sprint(told))
			}
		}
	})
}

// TestRecordIsWrittenAgainByWhoComesNext: an operator dies at each write of the
// repair of a record, before and after it, or gets no answer; the process that goes on
// comes to the same end, also where somebody deletes the record once more.
func TestRecordIsWrittenAgainByWhoComesNext(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ late, deaf, again bool }{
		"before": {}, "after": {late: true}, "after, and the record is deleted again": {late: true, again: true},
		"it gets no answer": {late: true, deaf: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			deaths := 0
			for at, reached := 1, true; reached; at++ {
				synctest.Test(t, func(t *testing.T) {
					b := founded(t)
					want := b.withObjects()
					if err := b.store.DeleteCluster(t.Context(), want); err != nil {
						t.Fatal(err)
					}
					b.writes, b.fuse, b.late, b.deaf = nil, at, row.late, row.deaf
					for range 20 {
						again, died := b.mortal()
						if c := b.record(); died && row.again && c != nil {
							if err := b.store.DeleteCluster(t.Context(), c); err != nil {
								t.Fatal(err)
							}
						}
						time.Sleep(max(again, time.Millisecond))
					}
					reached, b.fuse = b.fuse <= 0, 0
					b.is("True Healthy", "False Settled", "False NotStalled")
					got := b.record()
					if got == nil {
						t.Fatalf("there is no record after %v", b.writes)
					}
					if diff := cmp.Diff(want.Status.Bootstrap, got.Status.Bootstrap); diff != "" ||
						got.Status.ID != want.Status.ID ||
						got.Generation != want.Generation {
						t.Errorf("the record is another after %v: %+v %s", b.writes, got, diff)
					}
					// Who finds the record written has nothing left to repair.
					v := b.verbs()
					if v != "create Succeeded" && v != "create Succeeded, repair Succeeded" &&
						(!row.again || v != "create Succeeded, repair Succeeded, repair Succeeded") {
						t.Errorf("operations %s after %v", v, b.writes)
					}
				})
				if reached {
					deaths++
				}
			}
			if deaths < 4 {
				t.Errorf("it died %d times", deaths)
			}
		})
	}
}
