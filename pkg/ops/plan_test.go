package ops

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden plans anew")

// road is a state with a way ahead of it.
type road struct {
	name  string
	state func() State
	// downtime: the operation is to stop the cluster.
	downtime bool
}

func roads() []road {
	one := func(verb v1alpha1.Verb, members int, change func(*State)) func() State {
		return func() State {
			s := well(members).doing(operation(verb), true)
			change(&s)
			return s
		}
	}
	return []road{
		{name: "create", state: func() State { return wanted(3) }},
		{name: "create-one", state: func() State { return wanted(1) }},
		{name: "create-from-backup", state: func() State {
			s := wanted(3)
			s.Cluster.Spec.RestoreFrom = &v1alpha1.RestoreSource{Repository: "dir:/backups", Backup: "b0"}
			s.Cluster.Status.Formation.Members = []string{"db-1"}
			return s
		}},
		{name: "grow", state: one(v1alpha1.VerbScale, 3, func(s *State) { s.Cluster.Spec.Members = 5 })},
		{name: "shrink", state: one(v1alpha1.VerbScale, 5, func(s *State) { s.Cluster.Spec.Members = 3 })},
		{name: "remove-leader", state: one(v1alpha1.VerbRemoveMember, 3, func(s *State) { s.Cluster.Spec.Members, s.Operation.Spec.Member = 2, "db-1" })},
		{name: "upgrade", state: one(v1alpha1.VerbUpgrade, 3, func(s *State) { s.Cluster.Spec.Version, s.Operation.Spec.Version = "1.2.0", "1.2.0" })},
		{name: "downgrade", state: one(v1alpha1.VerbDowngrade, 3, func(s *State) { s.Cluster.Spec.Version, s.Operation.Spec.Version = "1.0.0", "1.0.0" })},
		{name: "downgrade-early", state: one(v1alpha1.VerbDowngrade, 3, func(s *State) {
			s.Cluster.Spec.Version, s.Operation.Spec.Version = "1.0.0", "1.0.0"
			s.View.Members[1].Schema = "1.0"
		})},
		{name: "downgrade-cancelled", state: one(v1alpha1.VerbDowngrade, 3, func(s *State) {
			s.Operation.Status.Phase, s.View.Downgrade = v1alpha1.PhaseCancelling, "1.0.0"
			s.runs("db-2", "1.0.0")
			s.speaks("1.0", "1.0")
		})},
		{name: "backup", state: one(v1alpha1.VerbBackup, 3, func(s *State) { s.Operation.Spec.Verify = true })},
		{name: "restore-in-place", downtime: true, state: one(v1alpha1.VerbRestore, 3, func(s *State) {
			s.Operation.Spec.InPlace, s.Operation.Spec.Source = true, &v1alpha1.BackupSource{Repository: "dir:/backups", Backup: "b0"}
		})},
		{name: "delete", downtime: true, state: one(v1alpha1.VerbDelete, 3, func(*State) {})},
		{name: "purge", downtime: true, state: one(v1alpha1.VerbDelete, 3, func(s *State) { s.Operation.Spec.Purge = true })},
		{name: "nothing", state: func() State { return well(3) }},
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	for _, r := range roads() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			before := r.state()
			p := MakePlan(stub{}, before)
			if diff := cmp.Diff(r.state(), before); diff != "" {
				t.Errorf("MakePlan changed its input:\n%s", diff)
			}
			if diff := cmp.Diff(p, MakePlan(stub{}, r.state())); diff != "" {
				t.Errorf("two plans of one state differ:\n%s", diff)
			}
			if p.Blocked != nil {
				t.Fatalf("blocked: %+v", p.Blocked)
			}
			done := map[string]bool{}
			for _, s := range p.Steps {
				if s.Action != ActionWait && done[s.ID] {
					t.Errorf("step %s twice", s.ID)
				}
				done[s.ID] = true
				if s.Tolerates != nil && *s.Tolerates < 0 && !r.downtime {
					t.Errorf("step %s leaves a quorum margin of %d", s.ID, *s.Tolerates)
				}
			}
			golden(t, r.name, p)
		})
	}
}

// TestPlanFromTheMiddle breaks a road off after every step: what is left must be its rest.
func TestPlanFromTheMiddle(t *testing.T) {
	t.Parallel()
	for _, r := range roads() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			whole := ids(MakePlan(stub{}, r.state()))
			s := r.state()
			for i := range whole {
				if diff := cmp.Diff(whole[i:], ids(MakePlan(stub{}, s))); diff != "" {
					t.Fatalf("after %d steps the rest is another (-was +is):\n%s", i, diff)
				}
				s = Predict(stub{}, s, *Decide(stub{}, s).Step)
			}
			if d := Decide(stub{}, s); !d.Done {
				t.Errorf("at the end: %s", decision(d))
			}
		})
	}
}

func ids(p Plan) []string {
	out := make([]string, len(p.Steps))
	for i, s := range p.Steps {
		out[i] = s.ID
	}
	return out
}

func golden(t *testing.T, name string, v any) {
	t.Helper()
	got, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	path := filepath.Join("testdata", "plan", name+".json")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("plan differs from %s (go test -update writes it anew):\n%s", path, diff)
	}
}
