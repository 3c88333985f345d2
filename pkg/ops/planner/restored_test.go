package planner_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
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
