package operator

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/policy"
)

// What objects are told that wait, and those that got what they asked for.
const (
	pending = "pending, Unknown NotTaken, True Pending, False NotStalled"
	taken   = "taken, True Taken, False Settled, False NotStalled"
)

// backedUp is a cluster of three with a place for its backups.
func backedUp(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	b.custom(func(c *v1alpha1.DatabaseCluster) { c.Spec.Backup.Repository = "pvc:backups" })
	b.settle(idleEvery)
	return b
}

// ask makes an object that asks for a backup.
func (b *bench) ask(name string, change func(*v1alpha1.DatabaseBackup)) {
	b.t.Helper()
	o := &v1alpha1.DatabaseBackup{Spec: v1alpha1.DatabaseBackupSpec{Cluster: b.key.Name}}
	o.Namespace, o.Name, o.UID, o.Generation, o.CreationTimestamp = b.key.Namespace, name, types.UID("uid-of-"+name), 1,
		metav1.Now()
	if change != nil {
		change(o)
	}
	if err := b.api.Create(b.t.Context(), o); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) asked(name string) *v1alpha1.DatabaseBackup {
	b.t.Helper()
	o := &v1alpha1.DatabaseBackup{}
	if err := b.api.Get(b.t.Context(), client.ObjectKey{Namespace: b.key.Namespace, Name: name}, o); err != nil {
		b.t.Fatal(err)
	}
	return o
}

// until reconciles until these operations are on record.
func (b *bench) until(verbs string) {
	b.t.Helper()
	for range 200 {
		if b.verbs() == verbs {
			return
		}
		b.once()
	}
	b.t.Fatalf("%s, want %s", b.verbs(), verbs)
}

// answers compares the summary of an object, its conditions and what the one
// that is true says.
func (b *bench) answers(name, want, says string) {
	b.t.Helper()
	o := b.asked(name)
	got, message := inWords(o.Status), newAnswer(o).message()
	if got != want || !strings.Contains(message, says) {
		b.t.Errorf("%s: %q, want %q; it says %q", name, got, want, message)
	}
}

func TestAsked(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*testing.T){
		"is taken once, and told": func(t *testing.T) {
			b := backedUp(t)
			b.ask("one", func(o *v1alpha1.DatabaseBackup) { o.Spec.Verify = true })
			b.settle(idleEvery)
			b.answers("one", "verified, True Verified, False Settled, False NotStalled", "is in pvc:backups")
			st := b.asked("one").Status
			if st.Backup == "" || st.Repository != "pvc:backups" || st.TakenAt == nil || st.VerifiedAt == nil ||
				st.EndedAt == nil || st.ObservedGeneration != 1 {
				t.Errorf("%+v", st)
			}
			b.writes = nil
			for range 5 {
				time.Sleep(idleEvery)
				b.settle(idleEvery)
			}
			if got := b.verbs(); got != "create Succeeded, backup Succeeded" || len(b.writes) > 0 {
				t.Errorf("%s; it wrote %v", got, b.writes)
			}
		},
		"is not taken again when its status is lost": func(t *testing.T) {
			b := backedUp(t)
			b.ask("one", nil)
			b.settle(idleEvery)
			o := b.asked("one")
			o.Status = v1alpha1.DatabaseBackupStatus{}
			if err := b.api.Status().Update(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			b.begin()
			b.settle(idleEvery)
			b.answers("one", taken, "")
			if got := b.verbs(); got != "create Succeeded, backup Succeeded" {
				t.Error(got)
			}
		},
		"is not taken again when its record is lost": func(t *testing.T) {
			b := backedUp(t)
			b.ask("one", nil)
			b.settle(idleEvery)
			o := b.asked("one")
			o.Status.EndedAt = nil
			if err := b.api.Status().Update(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			record := &corev1.ConfigMap{}
			record.Namespace, record.Name = "shop", o.Status.Operation
			if err := b.api.Delete(t.Context(), record); err != nil {
				t.Fatal(err)
			}
			b.begin()
			b.settle(idleEvery)
			b.answers("one", "cancelled, False NotTaken, False Settled, True RecordGone", "record of its operation is gone")
			if got := b.verbs(); got != "create Succeeded" {
				t.Error(got)
			}
		},
		"is taken once whenever an operator dies": func(t *testing.T) {
			b := backedUp(t)
			b.ask("one", func(o *v1alpha1.DatabaseBackup) { o.Spec.Verify = true })
			for range 20 {
				b.begin()
				b.once()
				time.Sleep(lookPause)
			}
			if got := b.verbs(); got != "create Succeeded, backup Succeeded" {
				t.Error(got)
			}
			b.answers("one", "verified, True Verified, False Settled, False NotStalled", "")
		},
		"is taken once by two that know nothing of each other": func(t *testing.T) {
			b := backedUp(t)
			b.ask("one", nil)
			b.settle(idleEvery)
			again := policy.Asked(*b.asked("one"), b.get())
			again.Operation.Backup = "other"
			_, err := b.r.Runner(opstest.Engine{}, nil, ops.Silent{}).Open(t.Context(), "shop", "db", again, nil)
			if ops.KindOf(err) != ops.Unchanged {
				t.Errorf("it began again: %v", err)
			}
		},
		"one after the other, the oldest first": func(t *testing.T) {
			b := backedUp(t)
			b.ask("one", nil)
			time.Sleep(time.Second)
			b.ask("an-other", nil)
			b.settle(idleEvery)
			b.answers("one", taken, "")
			b.answers("an-other", taken, "")
			first, second := b.asked("one").Status.Operation, b.asked("an-other").Status.Operation
			if first == "" || first >= second {
				t.Errorf("%s, then %s", first, second)
			}
		},
		"before what is wanted changes": func(t *testing.T) {
			b := backedUp(t)
			b.ask("one", nil)
			b.edit(func(s *v1alpha1.DatabaseClusterSpec) { s.Members = 5 })
			b.settle(idleEvery)
			if got := b.verbs(); got != "create Succeeded, backup Succeeded, scale Succeeded" {
				t.Error(got)
			}
		},
		"at once where the cluster is stalled": func(t *testing.T) {
			b := backedUp(t)
			b.edit(func(s *v1alpha1.DatabaseClusterSpec) { s.Config = map[string]string{"colour": "red"} })
			b.settle(lastDelay)
			b.ask("one", func(o *v1alpha1.DatabaseBackup) { o.Spec.Verify = true })
			b.once()
			b.answers("one", "running, Unknown NotVerified, True Operation, False NotStalled", "")
			b.settle(lastDelay)
			b.answers("one", "verified, True Verified, False Settled, False NotStalled", "")
			b.is("Unknown NotAsWanted", "False Settled", "True Config")
		},
		"waits for the operation in flight, and asks for no lists meanwhile": func(t *testing.T) {
			b := backedUp(t)
			b.edit(func(s *v1alpha1.DatabaseClusterSpec) { s.Members = 5 })
			b.once()
			b.ask("one", nil)
			b.once()
			b.answers("one", pending, "waits for operation db.dbop-op-")
			lists, turns := b.lists, 0
			for ; b.verbs() == "create Succeeded, scale Running" && turns < 200; turns++ {
				time.Sleep(b.once())
			}
			if lists = b.lists - lists; turns < 3 || lists > 3*turns {
				t.Errorf("%d lists in %d attempts", lists, turns) // one is that of verbs, one the cache's
			}
			b.settle(idleEvery)
			b.answers("one", taken, "")
		},
		"is neither started nor given up by what a cache believes": func(t *testing.T) {
			b := backedUp(t)
			b.ask("one", nil)
			there := &v1alpha1.DatabaseBackupList{Items: []v1alpha1.DatabaseBackup{*b.asked("one")}}
			believes := func(l *v1alpha1.DatabaseBackupList) {
				b.r.Custom = interceptor.NewClient(b.api, interceptor.Funcs{List: func(_ context.Context, _ client.WithWatch,
					o client.ObjectList, _ ...client.ListOption) error {
					l.DeepCopyInto(o.(*v1alpha1.DatabaseBackupList))
					return nil
				}})
			}
			if err := b.api.Delete(t.Context(), b.asked("one")); err != nil {
				t.Fatal(err)
			}
			believes(there)
			b.settle(idleEvery)
			if got := b.verbs(); got != "create Succeeded" {
				t.Errorf("it was started: %s", got)
			}
			b.r.Custom = b.api
			b.ask("two", func(o *v1alpha1.DatabaseBackup) { o.Spec.Verify = true })
			b.until("create Succeeded, backup Running")
			believes(&v1alpha1.DatabaseBackupList{})
			b.settle(idleEvery)
			b.r.Custom = b.api
			b.settle(idleEvery)
			if got := b.verbs(); got != "create Succeeded, backup Succeeded" {
				t.Errorf("it was given up: %s", got)
			}
			b.answers("two", "verified, True Verified, False Settled, False NotStalled", "")
		},
		"has its last answer written once, whatever a cache believes": func(t *testing.T) {
			b := backedUp(t)
			b.ask("one", nil)
			there := &v1alpha1.DatabaseBackupList{Items: []v1alpha1.DatabaseBackup{*b.asked("one")}}
			b.r.Custom = interceptor.NewClient(b.api, interceptor.Funcs{List: func(_ context.Context, _ client.WithWatch,
				o client.ObjectList, _ ...client.ListOption) error {
				there.DeepCopyInto(o.(*v1alpha1.DatabaseBackupList))
				return nil
			}})
			b.settle(idleEvery)
			b.answers("one", taken, "")
			b.writes = nil
			time.Sleep(lookPause)
			b.settle(idleEvery)
			if len(b.writes) > 0 {
				t.Errorf("it wrote %v", b.writes)
			}
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
}
