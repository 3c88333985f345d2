package planner_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// TestDropVolumes: the volumes from before a restore go, and no other; then there is no way back.
func TestDropVolumes(t *testing.T) {
	t.Parallel()
	e := opstest.Stub{}
	_, s, record := restored(t, e, func(*ops.State) {})
	undo, err := takenBack(t, e, s, record)
	if err != nil {
		t.Fatal(err)
	}
	drop := v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbDropVolumes}
	for _, inFlight := range []*v1alpha1.Operation{undo.Operation, &record} {
		active := inFlight.DeepCopy()
		active.Status.Phase = v1alpha1.PhaseRunning
		active.Status.Journal = []v1alpha1.JournalEntry{{Step: "stop-members"}}
		p := planner.Prepared{Request: planner.Request{Operation: drop}}
		if p.Meet(ops.Flight{Ordinary: active}) == nil {
			t.Errorf("volumes are dropped while %s is in flight", active.Name)
		}
	}
	s.Operation = opstest.Operation(v1alpha1.VerbDropVolumes)
	plan := planner.MakePlan(e, s)
	if diff := cmp.Diff([]string{"delete-volumes/db-1,db-2,db-3"}, opstest.IDs(plan)); diff != "" || plan.Blocked != nil {
		t.Fatalf("blocked %v, steps (-want +got):\n%s", plan.Blocked, diff)
	}
	after := planner.Predict(e, s, plan.Steps[0])
	if diff := cmp.Diff(s.Cluster, after.Cluster) + cmp.Diff(runsOn(s), runsOn(after)); diff != "" {
		t.Errorf("the cluster is another one (-want +got):\n%s", diff)
	}
	if d := planner.Decide(e, after); !d.Done {
		t.Errorf("then %+v", d)
	}
	s.Operation.Status.Phase = v1alpha1.PhaseCancelling
	if d := planner.Decide(e, s); !d.Done {
		t.Errorf("stepped back: %+v", d)
	}
	dropped := *s.Operation
	dropped.Status.Phase = v1alpha1.PhaseSucceeded
	if _, err := planner.Undo(s.Cluster, []v1alpha1.Operation{dropped, record}); ops.KindOf(err) != ops.Refused ||
		!strings.Contains(err.Error(), "were dropped") {
		t.Errorf("taken back: %v", err)
	}
}

// TestKeptMembers: what something runs on is not kept, whatever its volume bears.
func TestKeptMembers(t *testing.T) {
	t.Parallel()
	s := opstest.Well(3)
	if got := operation.KeptMembers(s); got != nil {
		t.Errorf("got %v", got)
	}
	for i := range s.Kube.Members {
		s.Kube.Members[i].Volume.Token = "before"
	}
	for i := 1; i < 3; i++ {
		s.Kube.Members[i].Workload.Exists, s.Kube.Members[i].Pod.Exists = false, false
	}
	s.Kube.Members[2].Volume.Token = ""
	if diff := cmp.Diff([]string{"db-2"}, operation.KeptMembers(s)); diff != "" {
		t.Error(diff)
	}
}
