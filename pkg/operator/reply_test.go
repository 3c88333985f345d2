package operator

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
)

// TestReply: what an object is told while its backup is not taken.
func TestReply(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*testing.T){
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
			b.answers("no-3", "stalled, Unknown NotTaken, False Refused, True Repository",
				"neither this object nor databasecluster db names a repository; set spec.backup.repository")
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
			b := backedUp(t)
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
		"is given up when its object goes while it fails": func(t *testing.T) {
			b := backedUp(t)
			b.world.before = func(s ops.Step) error { return &ops.Error{Kind: ops.NeedsHuman, Message: "the disk is full"} }
			b.ask("one", nil)
			b.settle(lastDelay)
			b.answers("one", "stalled, Unknown NotTaken, False Settled, True Operation",
				"the disk is full; it is tried again for a while; to give it up delete this object")
			if err := b.api.Delete(t.Context(), b.asked("one")); err != nil {
				t.Fatal(err)
			}
			b.settle(idleEvery)
			if got := b.verbs(); got != "create Succeeded, backup Cancelled" {
				t.Error(got)
			}
		},
		"is given up when it keeps its cluster for too long": func(t *testing.T) {
			b := backedUp(t)
			b.world.before = func(s ops.Step) error {
				if s.Action != ops.ActionBackup {
					return nil
				}
				return &ops.Error{Kind: ops.NeedsHuman, Message: "the disk is full"}
			}
			b.ask("one", nil)
			b.once()
			time.Sleep(2 * time.Second) // records say no more than the second in which they began
			b.edit(func(s *v1alpha1.DatabaseClusterSpec) { s.Members = 5 })
			for began := time.Now(); time.Since(began) < 9*time.Minute; {
				time.Sleep(max(b.once(), time.Millisecond))
			}
			if got := b.verbs(); got != "create Succeeded, backup Paused, scale Succeeded" {
				t.Error(got)
			}
			time.Sleep(2 * time.Minute)
			b.settle(idleEvery)
			if got := b.verbs(); got != "create Succeeded, backup Cancelled, scale Succeeded" {
				t.Error(got)
			}
			b.answers("one", "cancelled, False NotTaken, False Settled, True Cancelled",
				"its operation was given up: the disk is full; make another object")
		},
		"says that somebody gave it up": func(t *testing.T) {
			b := backedUp(t)
			b.ask("one", func(o *v1alpha1.DatabaseBackup) { o.Spec.Verify = true })
			b.until("create Succeeded, backup Running")
			flight, err := runner.FlightOf(t.Context(), b.store, "shop", "db")
			if err != nil {
				t.Fatal(err)
			}
			op := flight.Backup
			op.Status.Phase = v1alpha1.PhaseCancelling
			if err := b.store.UpdateOperation(t.Context(), op); err != nil {
				t.Fatal(err)
			}
			b.begin()
			b.settle(idleEvery)
			b.answers("one", "cancelled, False NotVerified, False Settled, True Cancelled", "make another object")
		},
		"waits while its cluster is paused": func(t *testing.T) {
			b := backedUp(t)
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
			b.answers("one", "stalled, Unknown NotTaken, False Refused, True NoCluster",
				"there is no databasecluster db in this namespace")
			b.writes = nil
			if again := b.once(); again > 0 || len(b.writes) > 0 {
				t.Errorf("again after %s, it wrote %v", again, b.writes)
			}
		},
		"says that its cluster is the command line's": func(t *testing.T) {
			b := backedUp(t)
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
			b.answers("one", "stalled, Unknown NotTaken, False Refused, True NoCluster",
				"kubectl dbop operator adopt db -n shop")
		},
		"is of no concern where the kind is not served": func(t *testing.T) {
			b := backedUp(t)
			b.ask("one", nil)
			b.r.offered = &offered{}
			b.settle(idleEvery)
			if got := b.verbs(); got != "create Succeeded" {
				t.Error(got)
			}
		},
		"of another cluster is left alone": func(t *testing.T) {
			b := backedUp(t)
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
