package operator

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
)

// TestBeside: while a Job takes a backup that an object asked for, an operator does what is wanted and mends what it
// may, unless the backup would not outlast it. Then that waits, and the backup is carried to its end.
func TestBeside(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*bench)
		// during are the operations while the Job runs, after once it is done.
		during, after string
		waits         bool
	}{
		"members are wanted": {func(b *bench) { b.edit(func(s *v1alpha1.DatabaseClusterSpec) { s.Members = 5 }) },
			"create Succeeded, backup Running, scale Succeeded", "create Succeeded, backup Succeeded, scale Succeeded", false},
		"the budget is gone": {func(b *bench) { b.world.facts.Budget = nil },
			"create Succeeded, backup Running, start Succeeded", "create Succeeded, backup Succeeded, start Succeeded", false},
		"fewer members are wanted, and its source leaves": {
			func(b *bench) { b.edit(func(s *v1alpha1.DatabaseClusterSpec) { s.Members = 1 }) },
			"create Succeeded, backup Running", "create Succeeded, backup Succeeded, scale Succeeded", true},
		"nothing": {func(*bench) {}, "create Succeeded, backup Running", "create Succeeded, backup Succeeded", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := backedUp(t)
				b.world.job = ops.JobState{Runs: true, Source: "db-3"}
				b.world.before = func(s ops.Step) error {
					if s.Action == ops.ActionBackup && b.world.job.Runs {
						return fmt.Errorf("pod b-1 is taking the backup: %w", engine.ErrNotReady)
					}
					return nil
				}
				b.ask("one", func(o *v1alpha1.DatabaseBackup) { o.Spec.Repository = "offsite" })
				b.until("create Succeeded, backup Running")
				time.Sleep(2 * time.Second) // records are named by the second
				c.change(b)
				waited := false
				for began := time.Now(); time.Since(began) < 2*time.Minute; {
					time.Sleep(max(b.once(), time.Millisecond))
					waited = waited || strings.Contains(b.message(conditionReconciling), "would not outlast the step")
				}
				if got := b.verbs(); got != c.during || waited != c.waits {
					t.Fatalf("while the Job runs: %s; waited %t: %s", got, waited, b.message(conditionReconciling))
				}
				b.world.job = ops.JobState{Done: true, Source: "db-3"}
				b.settle(idleEvery)
				if got := b.verbs(); got != c.after {
					t.Error(got)
				}
				b.answers("one", taken, "")
			})
		})
	}
}

// TestBackupCancelledByCommand: a command writes into the record that the backup is to be stepped back, and does not
// wait for the Job.
func TestBackupCancelledByCommand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := backedUp(t)
		b.world.before = func(s ops.Step) error {
			if s.Action == ops.ActionBackup {
				return fmt.Errorf("pod b-1 is taking the backup: %w", engine.ErrNotReady)
			}
			return nil
		}
		b.ask("one", func(o *v1alpha1.DatabaseBackup) { o.Spec.Repository = "offsite" })
		b.until("create Succeeded, backup Running")
		b.once()
		flight, err := runner.FlightOf(t.Context(), b.store, "shop", "db")
		if err != nil {
			t.Fatal(err)
		}
		flight.Backup.Status.Phase = v1alpha1.PhaseCancelling
		if err := b.store.UpdateOperation(t.Context(), flight.Backup); err != nil {
			t.Fatal(err)
		}
		b.settle(idleEvery)
		if got := b.verbs(); got != "create Succeeded, backup Cancelled" {
			t.Error(got)
		}
		b.is("True Healthy", "False Settled", "False NotStalled")
	})
}
