package operation_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// agreed is an engine whose members join as whole ones, and whose clients always log in.
type agreed struct{ opstest.Stub }

func (agreed) Capabilities() engine.Capabilities {
	return engine.Capabilities{Quorum: true, HandOver: true, Users: true, Login: true, Agent: true, MaxMembers: 7}
}

// engines are one that has learners, as etcd has, and one whose members agree by an agent.
func engines() map[string]engine.Engine {
	return map[string]engine.Engine{"learners": opstest.Stub{}, "agreed": agreed{}}
}

// restored is a cluster of three that was restored in place: as it was before, as it is, and the record.
func restored(t *testing.T, e engine.Engine, change func(*ops.State)) (was, is ops.State, record v1alpha1.Operation) {
	t.Helper()
	was = opstest.Well(3)
	if e.Capabilities().Login {
		was.Cluster.Spec.Auth.Enabled = true
	}
	was.Operation = opstest.Operation(v1alpha1.VerbRestore)
	was.Operation.Spec.InPlace, was.Operation.Spec.Source = true,
		&v1alpha1.BackupSource{Repository: "dir:/backups", Backup: "b0"}
	change(&was)
	planner.Default(&was.Operation.Spec, was.Cluster)
	is = walk(t, e, was, -1)
	is.Operation.Status.Phase = v1alpha1.PhaseSucceeded
	if is.Fact(v1alpha1.FactBackup) != "" {
		is.Operation.Status.Facts[v1alpha1.FactBackup] = is.Operation.Spec.Backup
	}
	is.Operation.Status.FinishedAt = new(metav1.NewTime(time.Date(2026, 11, 28, 9, 30, 0, 0, time.UTC)))
	return was, is, *is.Operation
}

// walk performs so many steps as they are predicted; all of them if the number is negative.
func walk(t *testing.T, e engine.Engine, s ops.State, steps int) ops.State {
	t.Helper()
	for n := 0; n != steps; n++ {
		d := planner.Decide(e, s)
		if d.Blocked != nil {
			t.Fatalf("blocked: %v; %s", d.Blocked, d.Blocked.Hint)
		}
		if d.Step == nil {
			return s
		}
		if d.Step.Action == ops.ActionDeleteVolume || d.Step.Action == ops.ActionLoad && ops.TakesRestoreBack(s.Operation) {
			t.Fatalf("%s: no volume is dropped or loaded", d.Step.ID)
		}
		if n > 100 {
			t.Fatal("it does not come to an end")
		}
		s = planner.Predict(e, s, *d.Step)
	}
	return s
}

// takenBack is that cluster when the restore is to be taken back.
func takenBack(t *testing.T, e engine.Engine, is ops.State, record v1alpha1.Operation) (ops.State, error) {
	t.Helper()
	u, err := planner.Undo(is.Cluster, []v1alpha1.Operation{record})
	if err != nil {
		return is, err
	}
	planner.Default(&u.Operation, is.Cluster)
	s := planner.Clone(is)
	s.Operation = nil
	p := planner.Prepared{Request: planner.Request{Operation: u.Operation}, State: s}
	if err := planner.Check(e, p.Request, s.Cluster); err != nil {
		return s, err
	}
	if err := planner.Resolve(e, &p.Request.Operation, s); err != nil {
		return s, err
	}
	s.Operation = p.Record("shop")
	s.Operation.Name = "db.op-undo"
	return s, nil
}

// runsOn lists the members of a state that have a workload.
func runsOn(s ops.State) []string {
	var out []string
	for _, m := range s.Kube.Members {
		if m.Workload.Exists {
			out = append(out, m.Name)
		}
	}
	slices.Sort(out)
	return out
}

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
		begun  int
		cancel bool
		says   string
		hint   string
	}{
		{name: "one of three is gone", gone: []string{"db-3"}},
		{name: "no majority is left", gone: []string{"db-2", "db-3"}, backup: true,
			says: "only 1 of the 3 former volumes",
			hint: "kubectl dbop restore db --in-place --from b1 --repository "},
		{name: "nor a backup", gone: []string{"db-1", "db-2", "db-3"}, says: "only 0 of the 3", hint: "backup list db"},
		{name: "they go meanwhile", gone: []string{"db-1", "db-2"}, begun: 1, says: "only 1 of the 3",
			hint: "kubectl dbop cancel db"},
		{name: "those of the restored data go, and it is stepped back", gone: []string{"db-4", "db-5"}, begun: 2,
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
			s = walk(t, e, s, row.begun)
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
