package executor

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/helperpod"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// restoredInPlace is a cluster of three that is about to be restored in place.
func restoredInPlace() ops.State {
	s := opstest.Well(3)
	s.Operation = opstest.Operation(v1alpha1.VerbRestore)
	s.Operation.Spec.InPlace, s.Operation.Spec.Source = true,
		&v1alpha1.BackupSource{Repository: "dir:/backups", Backup: "b0", Auth: true}
	s.Operation.Spec.Waive = []string{"backup"}
	planner.Default(&s.Operation.Spec, s.Cluster)
	return s
}

// TestCancelRestoreInPlace: wherever an in-place restore was killed, cancel
// leads back to the former volumes, and a way back that was killed anywhere
// goes on.
func TestCancelRestoreInPlace(t *testing.T) {
	t.Parallel()
	was := restoredInPlace()
	for killed := 0; ; killed++ {
		s := restoredInPlace()
		done, last := 0, ""
		for ; done < killed; done++ {
			d := planner.Decide(opstest.Stub{}, s)
			if d.Step == nil {
				break
			}
			s, last = planner.Predict(opstest.Stub{}, s, *d.Step), d.Step.ID
		}
		if done < killed {
			if killed < 6 {
				t.Fatalf("the restore has %d steps", done)
			}
			return
		}
		served := slices.ContainsFunc(s.Operation.Status.Journal,
			func(j v1alpha1.JournalEntry) bool { return strings.HasPrefix(j.Step, "start-members/") })
		s.Operation.Status.Phase = v1alpha1.PhaseCancelling
		if err := planner.Verbs().Cancellable(s.Operation); err != nil {
			t.Fatal(err)
		}
		var steps []string
		for range 20 {
			d := planner.Decide(opstest.Stub{}, s)
			if d.Blocked != nil {
				t.Fatalf("killed after %q: blocked: %v", last, d.Blocked)
			}
			if d.Step == nil {
				break
			}
			steps = append(steps, d.Step.ID)
			if d.Step.Action == ops.ActionDeleteVolume && slices.ContainsFunc(d.Step.Members,
				func(m string) bool { return !ops.IncarnationStartedBy(s.Operation, s.Kube.Member(m).Volume.Token) }) {
				t.Fatalf("killed after %q: %s drops a former volume", last, d.Step.ID)
			}
			s = planner.Predict(opstest.Stub{}, s, *d.Step)
		}
		t.Logf("killed after %q: %v", last, steps)
		if diff := cmp.Diff(was.Cluster, s.Cluster); diff != "" {
			t.Errorf("killed after %q: the cluster is not what it was (-want +got):\n%s", last, diff)
		}
		for _, name := range []string{"db-1", "db-2", "db-3"} {
			if m := s.Kube.Member(name); !m.Workload.Exists || m.Volume.Token != was.Bootstrap().Token {
				t.Errorf("killed after %q: %s does not run on its former volume: %+v", last, name, m)
			}
		}
		if fresh := s.Kube.Member("db-4"); fresh.Workload.Exists || fresh.Volume.Exists != served {
			t.Errorf("killed after %q, served %v: %+v", last, served, fresh)
		}
	}
}

func TestCancelRestoreInPlaceNeedsTheFormerVolumes(t *testing.T) {
	t.Parallel()
	s := restoredInPlace()
	for !ops.IncarnationStartedBy(s.Operation, s.Bootstrap().Token) {
		s = planner.Predict(opstest.Stub{}, s, *planner.Decide(opstest.Stub{}, s).Step)
	}
	s.Operation.Status.Phase = v1alpha1.PhaseCancelling
	planner.DropMember(&s, "db-1")
	if d := planner.Decide(opstest.Stub{}, s); d.Step == nil {
		t.Errorf("two of three volumes are left: %+v", d.Blocked)
	}
	planner.DropMember(&s, "db-2")
	if d := planner.Decide(opstest.Stub{}, s); d.Blocked == nil || d.Blocked.Check != "volumes" ||
		!strings.Contains(d.Blocked.Hint, "resume db") {
		t.Errorf("one of three volumes is left: %+v", d)
	}
	s.Operation.Spec.FromIncarnation = nil
	if planner.Verbs().Cancellable(s.Operation) == nil {
		t.Error("nobody knows where to go back to")
	}
}

// TestReturnToIncarnationEndsTheLoader: a pod that still loads the backup would keep
// the volume that is dropped.
func TestReturnToIncarnationEndsTheLoader(t *testing.T) {
	b := plain(t)
	b.Op = opstest.Operation(v1alpha1.VerbRestore)
	b.Op.Spec.InPlace, b.Op.Spec.Source = true, &v1alpha1.BackupSource{Backup: "b0", Auth: true}
	was := b.Cluster()
	b.Op.Spec.FromIncarnation = ops.IncarnationOf(was)
	_, err := perform(b, ops.Step{Action: ops.ActionNewIncarnation})
	b.Must(err)
	if !ops.IncarnationStartedBy(b.Op, b.Cluster().Status.Bootstrap.Token) {
		t.Fatal("no incarnation began")
	}
	b.Must(helperpod.Create(t.Context(), b.Client(), helperpod.Spec{Name: "db-2-load", Namespace: "shop",
		Cluster: b.Cluster(), Purpose: helperpod.PurposeLoad, Image: "example.com/dbop:v1"}))
	for range 2 {
		_, err = perform(b, ops.Step{Action: ops.ActionOldIncarnation})
		b.Must(err)
		now := b.Cluster()
		if diff := cmp.Diff(was.Spec, now.Spec) + cmp.Diff(was.Status.Bootstrap, now.Status.Bootstrap); diff != "" ||
			b.Helper("db-2-load") != nil {
			t.Errorf("the loader is left: %v; the cluster (-want +got):\n%s", b.Helper("db-2-load") != nil, diff)
		}
	}
}

// TestReturnFromRestore names the volumes that stay behind, and does the same when it is repeated.
func TestReturnFromRestore(t *testing.T) {
	b := plain(t)
	b.Op = opstest.Operation(v1alpha1.VerbRestore)
	b.Op.Spec.Undoes = "db.op-restore"
	b.Op.Spec.FromIncarnation = ops.IncarnationOf(b.Cluster())
	to := b.Op.Spec.FromIncarnation.DeepCopy()
	to.Bootstrap.Token, to.RestoreFrom = "before", &v1alpha1.RestoreSource{Backup: "b-1"}
	b.Op.Spec.ToIncarnation = to
	for n := range 2 {
		done, err := perform(b, ops.Step{Action: ops.ActionOldIncarnation})
		b.Must(err)
		now := b.Cluster()
		if now.Status.Bootstrap.Token != "before" || now.Spec.RestoreFrom == nil ||
			now.Status.Bootstrap.Incarnation != b.Op.Spec.FromIncarnation.Bootstrap.Incarnation+1 {
			t.Errorf("attempt %d: %+v, %+v", n, now.Status.Bootstrap, now.Spec.RestoreFrom)
		}
		if kept := done.Facts[v1alpha1.FactKept]; n == 0 && kept != "db-1" {
			t.Errorf("it leaves %q", kept)
		}
	}
}
