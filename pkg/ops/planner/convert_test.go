package planner

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// converting is a cluster of three that is about to be upgraded to a version that can't read its data.
func converting(t *testing.T) ops.State {
	t.Helper()
	s := opstest.Well(3)
	op := opstest.Operation(v1alpha1.VerbUpgrade)
	op.Spec.Version, op.Spec.Repository, op.Spec.Backup = "2.0.0", "dir:/backups", "db-20261125T010203Z-00ff"
	op.Spec.Waive = []string{"downtime"}
	Default(&op.Spec, s.Cluster)
	if err := Resolve(opstest.Converting{}, &op.Spec, s); err != nil {
		t.Fatal(err)
	}
	s.Operation = op
	if ApplyTo(s.Cluster, op) {
		t.Error("the cluster wants the new version before its data has it")
	}
	return s
}

// carriedOut performs predictions until a number of steps, or until there is none; it names the last one.
func carriedOut(t *testing.T, s ops.State, steps int) (ops.State, []string) {
	t.Helper()
	var done []string
	for len(done) < steps {
		d := Decide(opstest.Converting{}, s)
		if d.Blocked != nil {
			t.Fatalf("after %v: blocked: %v", done, d.Blocked)
		}
		if d.Step == nil {
			break
		}
		done, s = append(done, d.Step.ID), Predict(opstest.Converting{}, s, *d.Step)
	}
	return s, done
}

// TestConvertPlan: a backup is tried before any member stops, all that stopped members hold is backed up, and the new
// version begins with the new incarnation.
func TestConvertPlan(t *testing.T) {
	t.Parallel()
	s, done := carriedOut(t, converting(t), maxSteps)
	backup, last := "db-20261125T010203Z-00ff", "db-20261125T010203Z-0100"
	want := []string{"backup/" + backup, "verify-backup/" + backup, "stop-members",
		"examine-volume/db-1,db-2,db-3", "recover-data", "begin-incarnation", "load-backup/db-4",
		"start-members/db-4", "wait/formed", "record-bootstrap"}
	if len(done) < len(want) || !slices.Equal(done[:len(want)], want) {
		t.Errorf("steps (-want +got):\n%s", cmp.Diff(want, done))
	}
	c := s.Cluster
	if c.Spec.Version != "2.0.0" || c.Spec.RestoreFrom.Backup != last || len(s.View.Voters()) != 3 {
		t.Errorf("it ends with %d members of %s from %+v", len(s.View.Voters()), c.Spec.Version, c.Spec.RestoreFrom)
	}
	for _, m := range s.View.Members {
		if m.Version != "2.0.0" {
			t.Errorf("%s runs %s", m.Name, m.Version)
		}
	}
	s.Operation.Status.Phase = v1alpha1.PhaseSucceeded
	_, err := Undo(c, []v1alpha1.Operation{*s.Operation})
	if hint := opstest.HintOf(err); !strings.Contains(hint, "--from "+last) || !strings.Contains(hint, "--version 1.1.0") {
		t.Errorf("undo: %v; %s", err, hint)
	}
}

// TestCancelConvert: wherever it was killed, cancel leads back to the former version on the former volumes, and once
// these ran again nothing goes on from the backup that was taken before.
func TestCancelConvert(t *testing.T) {
	t.Parallel()
	was := converting(t)
	_, all := carriedOut(t, was, maxSteps)
	for killed := range len(all) {
		s, done := carriedOut(t, converting(t), killed)
		s.Operation.Status.Phase = v1alpha1.PhaseCancelling
		ApplyTo(s.Cluster, s.Operation)
		back, _ := carriedOut(t, s, maxSteps)
		if diff := cmp.Diff(was.Cluster, back.Cluster); diff != "" {
			t.Errorf("killed after %v: the cluster is not what it was (-want +got):\n%s", done, diff)
		}
		for _, name := range []string{"db-1", "db-2", "db-3"} {
			if m := back.Kube.Member(name); !m.Workload.Exists || m.Volume.Token != was.Bootstrap().Token ||
				m.Workload.Version != "1.1.0" {
				t.Errorf("killed after %v: %s does not run on its former volume: %+v", done, name, m)
			}
		}
		back.Operation.Status.Phase = v1alpha1.PhaseRunning
		d := Decide(opstest.Converting{}, back)
		again := d.Blocked != nil && d.Blocked.Check == "ran-again" && strings.Contains(d.Blocked.Hint, "cancel db")
		if read := slices.Contains(done, "examine-volume/db-1,db-2,db-3"); again != read {
			t.Errorf("killed after %v, stepped back, and resumed: %+v %+v", done, d.Step, d.Blocked)
		}
	}
}

// TestConvertRefusals: a cluster that stops asks for consent, and what is converted is a backup.
func TestConvertRefusals(t *testing.T) {
	t.Parallel()
	s := converting(t)
	s.Operation.Spec.Waive = nil
	if d := Decide(opstest.Converting{}, s); d.Blocked == nil || d.Blocked.Check != "downtime" ||
		!strings.Contains(d.Blocked.Hint, "--allow-downtime") {
		t.Errorf("nobody agreed to the downtime: %+v", d)
	}
	o := s.Operation.Spec
	o.Repository = ""
	if err := Resolve(opstest.Converting{}, &o, s); ops.Refusal(err).Check != "backup" {
		t.Errorf("there is no place for a backup: %v", err)
	}
	o = s.Operation.Spec
	o.Waive = []string{"backup", "downtime"}
	if err := Resolve(opstest.Converting{}, &o, s); ops.Refusal(err).Check != "backup" {
		t.Errorf("the backup is given up: %v", err)
	}
	o = v1alpha1.OperationSpec{Verb: v1alpha1.VerbUpgrade,
		VersionParameters: v1alpha1.VersionParameters{FromVersion: "1.1.0", Version: "1.2.0"}}
	if err := Resolve(opstest.Converting{}, &o, s); err != nil || o.InPlace {
		t.Errorf("members of 1.2.0 read the data: %v, in place: %t", err, o.InPlace)
	}
}

// TestConvertWithdrawn: who puts the former version back into the custom resource steps back.
func TestConvertWithdrawn(t *testing.T) {
	t.Parallel()
	s, _ := carriedOut(t, converting(t), 5)
	want := *s.Cluster.Spec.DeepCopy()
	want.Version = "2.0.0"
	if Withdrawn(want, s.Operation) {
		t.Error("the new version is wanted")
	}
	want.Version = "1.1.0"
	if !Withdrawn(want, s.Operation) {
		t.Error("the former version is wanted")
	}
}
