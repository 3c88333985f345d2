package runner

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// undoing is the request that takes the last operation back, as the records on the shelf have it.
func undoing(t *testing.T, sh *shelf) planner.Request {
	t.Helper()
	records, _ := sh.ListOperations(t.Context(), "", "")
	u, err := planner.Undo(sh.cluster, records)
	if err != nil {
		t.Fatal(err)
	}
	return planner.Request{Operation: u.Operation}
}

// inPlace asks for a restore in place without a safety backup.
func inPlace() planner.Request {
	return planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbRestore,
		RestoreParameters: v1alpha1.RestoreParameters{InPlace: true},
		Source:            &v1alpha1.BackupSource{Repository: "dir:/backups", Backup: "b0"}, Waive: []string{"backup"}}}
}

// TestRunnerUndoesRestore: killed before or after any step, the same command goes on, and so does resume, which an
// operator does too. The cluster is what it was before the restore.
func TestRunnerUndoesRestore(t *testing.T) {
	t.Parallel()
	for killed, ended := 0, false; !ended; killed++ {
		onShelf(t, func(sh *shelf, r *Runner) {
			ctx := context.Background()
			was := sh.cluster.DeepCopy()
			if _, err := r.Run(ctx, "shop", inPlace()); err != nil {
				t.Fatal(err)
			}
			if sh.cluster.Status.Bootstrap.Token == was.Status.Bootstrap.Token || sh.cluster.Spec.RestoreFrom == nil {
				t.Fatalf("nothing was restored: %+v", sh.cluster.Spec)
			}
			stop, points := make(chan struct{}), 0
			r.Stop = stop
			r.FailPoint = func(when string, _ ops.Step) {
				if when == "within" {
					return
				}
				if points++; points == killed+1 {
					close(stop)
				}
			}
			_, err := r.Run(ctx, "shop", undoing(t, sh))
			ended = points <= killed
			if !ended && ops.KindOf(err) != ops.Interrupted || ended && err != nil {
				t.Fatalf("killed at point %d of %d: %v", killed, points, err)
			}
			r.Stop, r.FailPoint = nil, nil
			if !ended {
				if killed%2 == 0 {
					_, err = r.Run(ctx, "shop", undoing(t, sh))
				} else {
					_, err = r.Resume(ctx, "shop", "db", false)
				}
			}
			if err != nil {
				t.Fatalf("killed at point %d, it does not go on: %v", killed, err)
			}
			record := sh.operations[len(sh.operations)-1]
			if len(sh.operations) != 2 || record.Spec.Undoes != sh.operations[0].Name ||
				record.Status.Phase != v1alpha1.PhaseSucceeded ||
				!slices.ContainsFunc(record.Status.Journal, func(j v1alpha1.JournalEntry) bool {
					return strings.HasPrefix(j.Step, "start-members/db-1,db-2,db-3")
				}) {
				t.Errorf("killed at point %d: %d records, the last is %+v", killed, len(sh.operations), record)
			}
			was.Status.Bootstrap.Incarnation = 2
			if diff := cmp.Diff(was.Spec, sh.cluster.Spec) + cmp.Diff(was.Status.Bootstrap,
				sh.cluster.Status.Bootstrap); diff != "" {
				t.Errorf("killed at point %d: the cluster is not what it was (-want +got):\n%s", killed, diff)
			}
			records, _ := sh.ListOperations(ctx, "", "")
			if _, err := planner.Undo(sh.cluster, records); ops.KindOf(err) != ops.Refused {
				t.Errorf("typed again once it is done: %v", err)
			}
		})
		if killed > 60 {
			t.Fatal("it does not come to an end")
		}
	}
}

// TestRunnerUndoesNoRestoreWithoutVolumes: where the volumes from before are gone, the members run on, and nothing is
// written down.
func TestRunnerUndoesNoRestoreWithoutVolumes(t *testing.T) {
	t.Parallel()
	onShelf(t, func(sh *shelf, r *Runner) {
		ctx := context.Background()
		if _, err := r.Run(ctx, "shop", inPlace()); err != nil {
			t.Fatal(err)
		}
		drop := planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbDropVolumes}}
		undo := undoing(t, sh)
		world, ok := r.Cluster("shop", "db").(shelved)
		if !ok {
			t.Fatal("another world")
		}
		for _, name := range []string{"db-1", "db-3"} {
			planner.DropMember(&world.state, name)
		}
		if _, err := r.Prepare(ctx, "shop", undo); ops.KindOf(err) != ops.Refused {
			t.Errorf("its plan: %v", err)
		}
		before := len(world.performed)
		if _, err := r.Run(ctx, "shop", undo); ops.KindOf(err) != ops.Refused ||
			!strings.Contains(err.Error(), "only 1 of the 3 former volumes of db are left") ||
			len(world.performed) != before || len(sh.operations) != 1 {
			t.Errorf("got %v, %d records, then %v", err, len(sh.operations), world.performed[before:])
		}
		if _, err := r.Run(ctx, "shop", drop); err != nil || world.state.Kube.Member("db-2").Volume.Exists ||
			!world.state.Kube.Member("db-4").Volume.Exists {
			t.Errorf("dropped: %v, %+v", err, world.state.Kube.Members)
		}
		if _, err := r.Run(ctx, "shop", drop); ops.KindOf(err) != ops.Unchanged {
			t.Errorf("nothing is kept any more: %v", err)
		}
	})
}
