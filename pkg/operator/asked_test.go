package operator

import (
	"context"
	"fmt"
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
)

// repository is a cluster of three with a place for its backups.
func repository(t *testing.T) *bench {
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
	o.Namespace, o.Name, o.UID, o.Generation, o.CreationTimestamp = b.key.Namespace, name, types.UID("uid-of-"+name), 1, metav1.Now()
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
	const pending, taken = "pending, Unknown NotTaken, True Pending, False NotStalled", "taken, True Taken, False Settled, False NotStalled"
	for name, test := range map[string]func(*testing.T){
		"is taken once, and told": func(t *testing.T) {
			b := repository(t)
			b.ask("one", func(o *v1alpha1.DatabaseBackup) { o.Spec.Verify = true })
			b.settle(idleEvery)
			b.answers("one", "verified, True Verified, False Settled, False NotStalled", "is in pvc:backups")
			st := b.asked("one").Status
			if st.Backup == "" || st.Repository != "pvc:backups" || st.TakenAt == nil || st.VerifiedAt == nil || st.EndedAt == nil || st.ObservedGeneration != 1 {
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
			b := repository(t)
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
			b := repository(t)
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
			b := repository(t)
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
			b := repository(t)
			b.ask("one", nil)
			b.settle(idleEvery)
			again := ops.Asked(*b.asked("one"), b.get())
			again.Operation.Backup = "other"
			_, err := b.r.Runner(opstest.Engine{}, nil, ops.Silent{}).Open(t.Context(), "shop", "db", again, nil)
			if ops.KindOf(err) != ops.Unchanged {
				t.Errorf("it began again: %v", err)
			}
		},
		"one after the other, the oldest first": func(t *testing.T) {
			b := repository(t)
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
			b := repository(t)
			b.ask("one", nil)
			b.edit(func(s *v1alpha1.DatabaseClusterSpec) { s.Members = 5 })
			b.settle(idleEvery)
			if got := b.verbs(); got != "create Succeeded, backup Succeeded, scale Succeeded" {
				t.Error(got)
			}
		},
		"at once where the cluster is stalled": func(t *testing.T) {
			b := repository(t)
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
			b := repository(t)
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
				t.Errorf("%d lists in %d turns", lists, turns) // one is that of verbs, one the cache's
			}
			b.settle(idleEvery)
			b.answers("one", taken, "")
		},
		"says why it can't be, in no hurry, and recovers": func(t *testing.T) {
			b := founded(t)
			for i := range 10 {
				b.ask(fmt.Sprintf("no-%d", i), nil)
			}
			var tries int
			for began := time.Now(); time.Since(began) < 20*time.Minute; tries++ {
				time.Sleep(max(b.once(), time.Millisecond))
			}
			if tries > 100 {
				t.Errorf("%d visits in 20 minutes", tries)
			}
			b.answers("no-3", "stalled, Unknown NotTaken, False Refused, True Repository", "neither this object nor databasecluster db names a repository; set spec.backup.repository")
			b.is("True Healthy", "False Settled", "False NotStalled")
			b.writes = nil
			time.Sleep(b.once())
			b.once()
			if len(b.writes) > 0 {
				t.Errorf("it wrote %v", b.writes)
			}
			b.edit(func(s *v1alpha1.DatabaseClusterSpec) { s.Backup.Repository = "pvc:backups" })
			for began := time.Now(); time.Since(began) < 10*refusedFor; {
				time.Sleep(max(b.once(), time.Millisecond))
			}
			for i := range 10 {
				b.answers(fmt.Sprintf("no-%d", i), taken, "")
			}
		},
		"keeps nothing else waiting while it can't be": func(t *testing.T) {
			b := founded(t)
			b.ask("one", nil)
			b.edit(func(s *v1alpha1.DatabaseClusterSpec) { s.Members = 5 })
			b.settle(refusedFor / 2)
			if got := b.verbs(); got != "create Succeeded, scale Succeeded" {
				t.Error(got)
			}
		},
		"does not undo the patience with a stalled cluster": func(t *testing.T) {
			b := founded(t)
			b.ask("one", nil)
			b.edit(func(s *v1alpha1.DatabaseClusterSpec) { s.Config = map[string]string{"colour": "red"} })
			var tries int
			for began := time.Now(); time.Since(began) < time.Hour; tries++ {
				time.Sleep(max(b.once(), time.Millisecond))
			}
			if tries > 100 {
				t.Errorf("%d visits in an hour", tries)
			}
			b.writes = nil
			for began := time.Now(); time.Since(began) < 10*time.Minute; {
				time.Sleep(max(b.once(), time.Millisecond))
				b.is("Unknown NotAsWanted", "False Settled", "True Config")
			}
			if len(b.writes) > 0 {
				t.Errorf("it wrote %v", b.writes)
			}
		},
		"is given up when its object goes": func(t *testing.T) {
			b := repository(t)
			b.ask("one", nil)
			b.until("create Succeeded, backup Running")
			if err := b.api.Delete(t.Context(), b.asked("one")); err != nil {
				t.Fatal(err)
			}
			b.settle(idleEvery)
			if got := b.verbs(); got != "create Succeeded, backup Cancelled" {
				t.Error(got)
			}
			b.is("True Healthy", "False Settled", "False NotStalled")
		},
		"is neither begun nor given up by what a cache believes": func(t *testing.T) {
			b := repository(t)
			b.ask("one", nil)
			there := &v1alpha1.DatabaseBackupList{Items: []v1alpha1.DatabaseBackup{*b.asked("one")}}
			believes := func(l *v1alpha1.DatabaseBackupList) {
				b.r.Custom = interceptor.NewClient(b.api, interceptor.Funcs{List: func(_ context.Context, _ client.WithWatch, o client.ObjectList, _ ...client.ListOption) error {
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
				t.Errorf("it was begun: %s", got)
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
			b := repository(t)
			b.ask("one", nil)
			there := &v1alpha1.DatabaseBackupList{Items: []v1alpha1.DatabaseBackup{*b.asked("one")}}
			b.r.Custom = interceptor.NewClient(b.api, interceptor.Funcs{List: func(_ context.Context, _ client.WithWatch, o client.ObjectList, _ ...client.ListOption) error {
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
		"is given up when its object goes while it fails": func(t *testing.T) {
			b := repository(t)
			b.world.before = func(s ops.Step) error { return &ops.Error{Kind: ops.NeedsHuman, Message: "the disk is full"} }
			b.ask("one", nil)
			b.settle(lastDelay)
			b.answers("one", "stalled, Unknown NotTaken, False Settled, True Operation", "the disk is full; it is tried again for a while; to give it up delete this object")
			if err := b.api.Delete(t.Context(), b.asked("one")); err != nil {
				t.Fatal(err)
			}
			b.settle(idleEvery)
			if got := b.verbs(); got != "create Succeeded, backup Cancelled" {
				t.Error(got)
			}
		},
		"is given up when it keeps its cluster for too long": func(t *testing.T) {
			b := repository(t)
			b.world.before = func(s ops.Step) error {
				if s.Action != ops.ActionBackup {
					return nil
				}
				return &ops.Error{Kind: ops.NeedsHuman, Message: "the disk is full"}
			}
			b.ask("one", nil)
			b.once()
			b.edit(func(s *v1alpha1.DatabaseClusterSpec) { s.Members = 5 })
			for began := time.Now(); time.Since(began) < 9*time.Minute; {
				time.Sleep(max(b.once(), time.Millisecond))
			}
			if got := b.verbs(); got != "create Succeeded, backup Paused" {
				t.Error(got)
			}
			time.Sleep(2 * time.Minute)
			b.settle(idleEvery)
			if got := b.verbs(); got != "create Succeeded, backup Cancelled, scale Succeeded" {
				t.Error(got)
			}
			b.answers("one", "cancelled, False NotTaken, False Settled, True Cancelled", "its operation was given up: the disk is full; make another object")
		},
		"says that somebody gave it up": func(t *testing.T) {
			b := repository(t)
			b.ask("one", func(o *v1alpha1.DatabaseBackup) { o.Spec.Verify = true })
			b.until("create Succeeded, backup Running")
			op, err := b.store.ActiveOperation(t.Context(), "shop", "db")
			if err != nil {
				t.Fatal(err)
			}
			op.Status.Phase = v1alpha1.PhaseCancelling
			if err := b.store.UpdateOperation(t.Context(), op); err != nil {
				t.Fatal(err)
			}
			b.begin()
			b.settle(idleEvery)
			b.answers("one", "cancelled, False NotVerified, False Settled, True Cancelled", "make another object")
		},
		"waits while its cluster is paused": func(t *testing.T) {
			b := repository(t)
			b.edit(func(s *v1alpha1.DatabaseClusterSpec) { s.Paused = true })
			b.settle(idleEvery)
			b.ask("one", nil)
			b.settle(idleEvery)
			b.answers("one", pending, "waits until databasecluster db is not paused any more")
			b.edit(func(s *v1alpha1.DatabaseClusterSpec) { s.Paused = false })
			b.settle(idleEvery)
			b.answers("one", taken, "")
		},
		"waits for a cluster that is applied with it": func(t *testing.T) {
			b := newBench(t)
			b.ask("one", nil)
			b.once()
			b.answers("one", pending, "waits for databasecluster db")
			b.custom(func(c *v1alpha1.DatabaseCluster) { c.Spec.Backup.Repository = "pvc:backups" })
			b.settle(idleEvery)
			b.answers("one", taken, "")
		},
		"says that there is no cluster": func(t *testing.T) {
			b := newBench(t)
			b.ask("one", nil)
			b.settle(idleEvery)
			b.answers("one", "stalled, Unknown NotTaken, False Refused, True NoCluster", "there is no databasecluster db in this namespace")
			b.writes = nil
			if again := b.once(); again > 0 || len(b.writes) > 0 {
				t.Errorf("again after %s, it wrote %v", again, b.writes)
			}
		},
		"says that its cluster is the command line's": func(t *testing.T) {
			b := repository(t)
			c, err := b.store.GetCluster(t.Context(), "shop", "db")
			if err != nil {
				t.Fatal(err)
			}
			delete(c.Annotations, v1alpha1.AnnotationCustom)
			if err := b.store.UpdateCluster(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if err := b.api.Delete(t.Context(), b.get()); err != nil {
				t.Fatal(err)
			}
			b.ask("one", nil)
			b.settle(idleEvery)
			b.answers("one", "stalled, Unknown NotTaken, False Refused, True NoCluster", "kubectl dbop operator adopt db -n shop")
		},
		"is of no concern where the kind is not served": func(t *testing.T) {
			b := repository(t)
			b.ask("one", nil)
			b.r.offered = &offered{}
			b.settle(idleEvery)
			if got := b.verbs(); got != "create Succeeded" {
				t.Error(got)
			}
		},
		"of another cluster is left alone": func(t *testing.T) {
			b := repository(t)
			b.ask("one", func(o *v1alpha1.DatabaseBackup) { o.Spec.Cluster = "other" })
			b.settle(idleEvery)
			if got := b.verbs(); got != "create Succeeded" || b.asked("one").Status.Summary != "" {
				t.Errorf("%s, %+v", got, b.asked("one").Status)
			}
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
}
