package planner_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// checkBack sees that a cluster is again what it was, on the volumes that it had, and that no volume is gone.
func checkBack(t *testing.T, was, now, all ops.State) {
	t.Helper()
	want, got := was.Cluster.DeepCopy(), now.Cluster.DeepCopy()
	if got.Status.Bootstrap.Incarnation <= all.Bootstrap().Incarnation {
		t.Errorf("incarnation %d does not count on from %d", got.Status.Bootstrap.Incarnation, all.Bootstrap().Incarnation)
	}
	got.Status.Bootstrap.Incarnation = want.Status.Bootstrap.Incarnation
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the cluster is not what it was (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(runsOn(was), runsOn(now)); diff != "" {
		t.Errorf("who runs (-want +got):\n%s", diff)
	}
	for _, name := range runsOn(now) {
		if v := now.Kube.Member(name).Volume; v.Token != want.Status.Bootstrap.Token {
			t.Errorf("%s runs on a volume with token %s", name, v.Token)
		}
	}
	for _, m := range all.Kube.Members {
		if !now.Kube.Member(m.Name).Volume.Exists {
			t.Errorf("the volume of %s is gone", m.Name)
		}
	}
}

// TestUndoRestore: however far it came, it goes on, or it is stepped back and taken up again; and all volumes stay.
func TestUndoRestore(t *testing.T) {
	t.Parallel()
	for name, e := range engines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			was, is, record := restored(t, e, func(*ops.State) {})
			start, err := takenBack(t, e, is, record)
			if err != nil {
				t.Fatal(err)
			}
			if all := walk(t, e, start, -1); len(all.Operation.Status.Journal) < 4 {
				t.Fatalf("steps %+v", all.Operation.Status.Journal)
			}
			for killed := range len(walk(t, e, start, -1).Operation.Status.Journal) + 1 {
				s := planner.Clone(walk(t, e, start, killed))
				checkBack(t, was, walk(t, e, s, -1), is)
				s.Operation.Status.Phase = v1alpha1.PhaseCancelling
				if err := planner.Verbs().Cancellable(s.Operation); err != nil {
					t.Fatal(err)
				}
				back := walk(t, e, s, -1)
				if s.Bootstrap().Token == is.Bootstrap().Token {
					if diff := cmp.Diff(is.Cluster, back.Cluster); diff != "" || len(runsOn(back)) != 3 {
						t.Errorf("killed after %d steps, then stepped back: %v run, %s", killed, runsOn(back), diff)
					}
				} else {
					checkBack(t, is, back, s)
				}
				back.Operation = nil
				again, err := takenBack(t, e, back, record)
				if err != nil {
					t.Fatal(err)
				}
				checkBack(t, was, walk(t, e, again, -1), back)
			}
		})
	}
}

// TestUndoRestoreProves: the members are healthy, and clients who must log in can, before it ends.
func TestUndoRestoreProves(t *testing.T) {
	t.Parallel()
	e := agreed{}
	_, is, record := restored(t, e, func(*ops.State) {})
	s, err := takenBack(t, e, is, record)
	if err != nil {
		t.Fatal(err)
	}
	end := walk(t, e, s, -1)
	if end.Fact(v1alpha1.FactProved) == "" || end.View.ClusterIDs[0] != end.Bootstrap().ClusterID {
		t.Errorf("facts %v, identities %v", end.Operation.Status.Facts, end.View.ClusterIDs)
	}
	for _, name := range runsOn(end) {
		if err := e.Health(end.View, name); err != nil {
			t.Error(err)
		}
	}
	end.View.ClusterIDs = []string{"another"}
	if d := planner.Decide(e, end); d.Blocked == nil || d.Blocked.Check != "cluster-id" {
		t.Errorf("members of another cluster: %+v", d)
	}
}

// TestUndoRestoreOfAStoppedCluster leaves it stopped.
func TestUndoRestoreOfAStoppedCluster(t *testing.T) {
	t.Parallel()
	was, is, record := restored(t, opstest.Stub{}, func(s *ops.State) {
		s.Cluster.Spec.Stopped, s.Operation.Spec.Waive = true, []string{"backup"}
		for i := range s.Kube.Members {
			m := &s.Kube.Members[i]
			m.Workload.Exists, m.Pod.Exists = false, false
		}
		s.View = engine.View{}
	})
	s, err := takenBack(t, opstest.Stub{}, is, record)
	if err != nil {
		t.Fatal(err)
	}
	checkBack(t, was, walk(t, opstest.Stub{}, s, -1), is)
}

// TestUndoRestoreRefuses what can't be taken back, before anything is stopped.
func TestUndoRestoreRefuses(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		gone   []string
		backup bool
		steps  int
		cancel bool
		says   string
		hint   string
	}{
		{name: "one of three is gone", gone: []string{"db-3"}},
		{name: "no majority is left", gone: []string{"db-2", "db-3"}, backup: true,
			says: "only 1 of the 3 former volumes",
			hint: "kubectl dbop restore db --in-place --from b1 --repository "},
		{name: "nor a backup", gone: []string{"db-1", "db-2", "db-3"}, says: "only 0 of the 3", hint: "backup list db"},
		{name: "they go meanwhile", gone: []string{"db-1", "db-2"}, steps: 1, says: "only 1 of the 3",
			hint: "kubectl dbop cancel db"},
		{name: "those of the restored data go, and it is stepped back", gone: []string{"db-4", "db-5"}, steps: 2,
			cancel: true, says: "only 1 of the 3", hint: "kubectl dbop resume db"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			e := opstest.Stub{}
			_, is, record := restored(t, e, func(s *ops.State) {
				if !row.backup {
					s.Operation.Spec.Waive = []string{"backup"}
				}
			})
			s, err := takenBack(t, e, is, record)
			if err != nil {
				t.Fatal(err)
			}
			s = walk(t, e, s, row.steps)
			for _, m := range row.gone {
				planner.DropMember(&s, m)
			}
			if row.cancel {
				s.Operation.Status.Phase = v1alpha1.PhaseCancelling
			}
			d := planner.Decide(e, s)
			if row.says == "" {
				if d.Step == nil || d.Step.ID != "stop-members" {
					t.Errorf("got %+v", d)
				}
				return
			}
			if d.Blocked == nil || d.Blocked.Check != "volumes" || !strings.Contains(d.Blocked.Message, row.says) ||
				!strings.Contains(d.Blocked.Hint, row.hint) {
				t.Errorf("got %+v", d)
			}
		})
	}
}

// TestUndoRestoreOfOtherData: who restored since, or lost the record of it, runs on other data.
func TestUndoRestoreOfOtherData(t *testing.T) {
	t.Parallel()
	_, is, record := restored(t, opstest.Stub{}, func(*ops.State) {})
	is.Cluster.Status.Bootstrap.Token = "incarnation-db.other-db-7"
	if _, err := takenBack(t, opstest.Stub{}, is, record); err == nil ||
		!strings.Contains(err.Error(), "does not run any more on the data") {
		t.Errorf("got %v", err)
	}
}

// TestUndoRestoreAsks: what it says before anybody agrees, and what is said of what was left.
func TestUndoRestoreAsks(t *testing.T) {
	t.Parallel()
	_, is, record := restored(t, opstest.Stub{}, func(s *ops.State) { s.Cluster.Spec.Stopped = false })
	u, err := planner.Undo(is.Cluster, []v1alpha1.Operation{record})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"all that was written since the restore ended, at 2026-11-28T09:30:00Z: nothing but the volumes of " +
		"the restored data holds it"}
	if diff := cmp.Diff(want, u.Lost); diff != "" {
		t.Errorf("lost (-want +got):\n%s", diff)
	}
	want = []string{"the volumes of the restored data", "the safety backup from before the restore: b1, in " +
		record.Spec.Repository}
	if diff := cmp.Diff(want, u.Kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	s, err := takenBack(t, opstest.Stub{}, is, record)
	if err != nil {
		t.Fatal(err)
	}
	if got := operation.LeftVolumes(s)[v1alpha1.FactKept]; got != "db-4 db-5 db-6" {
		t.Errorf("it leaves %q", got)
	}
	if got := operation.LeftVolumes(is); got != nil {
		t.Errorf("a restore leaves %v", got)
	}
	if got := operation.LeftVolumes(walk(t, opstest.Stub{}, s, 2)); got != nil {
		t.Errorf("a repeat of the step says %v", got)
	}
	again := *is.Operation
	again.Spec.Undoes = ""
	if planner.Verbs().Continues(again.Spec, s.Operation) || !planner.Verbs().Continues(u.Operation, s.Operation) {
		t.Error("a restore goes on with what takes another one back, or the same request does not")
	}
}
