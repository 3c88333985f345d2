package planner

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

var update = flag.Bool("update", false, "write the golden plans again")

func TestPlan(t *testing.T) {
	t.Parallel()
	for _, r := range opstest.Roads() {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			before := r.State()
			p := MakePlan(opstest.Stub{}, before)
			if diff := cmp.Diff(r.State(), before); diff != "" {
				t.Errorf("MakePlan changed its input:\n%s", diff)
			}
			if diff := cmp.Diff(p, MakePlan(opstest.Stub{}, r.State())); diff != "" {
				t.Errorf("two plans of one state differ:\n%s", diff)
			}
			if p.Blocked != nil {
				t.Fatalf("blocked: %+v", p.Blocked)
			}
			done := map[string]bool{}
			for _, s := range p.Steps {
				if s.Action != ops.ActionWait && done[s.ID] {
					t.Errorf("step %s twice", s.ID)
				}
				done[s.ID] = true
				if s.Tolerates != nil && (s.During == nil || *s.During > *s.Tolerates) {
					t.Errorf("step %s tolerates more while it runs than after it", s.ID)
				}
				if s.Tolerates != nil && *s.Tolerates < 0 && !r.Downtime {
					t.Errorf("step %s leaves a quorum margin of %d", s.ID, *s.Tolerates)
				}
			}
			golden(t, r.Name, p)
		})
	}
}

// TestPlanFromTheMiddle breaks a road off after every step: what is left must be its rest.
func TestPlanFromTheMiddle(t *testing.T) {
	t.Parallel()
	for _, r := range opstest.Roads() {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			whole := opstest.IDs(MakePlan(opstest.Stub{}, r.State()))
			s := r.State()
			for i := range whole {
				if diff := cmp.Diff(whole[i:], opstest.IDs(MakePlan(opstest.Stub{}, s))); diff != "" {
					t.Fatalf("after %d steps the rest is another (-was +is):\n%s", i, diff)
				}
				s = Predict(opstest.Stub{}, s, *Decide(opstest.Stub{}, s).Step)
			}
			if d := Decide(opstest.Stub{}, s); !d.Done {
				t.Errorf("at the end: %s", decision(d))
			}
		})
	}
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
		t.Errorf("plan differs from %s (go test -update writes it again):\n%s", path, diff)
	}
}

// TestPlansDisturb: a step that costs a restart or moves the leader spares no backup whose member is not known.
func TestPlansDisturb(t *testing.T) {
	t.Parallel()
	backup := opstest.Operation(v1alpha1.VerbBackup)
	for _, r := range opstest.Roads() {
		for _, step := range MakePlan(opstest.Stub{}, r.State()).Steps {
			costs := step.Risk == ops.RiskRestart || step.Risk == ops.RiskDowntime || step.Risk == ops.RiskLeaderMove
			if costs && !step.Disturbs(backup, "") {
				t.Errorf("%s: %s (%s) goes on beside a backup", r.Name, step.ID, step.Risk)
			}
		}
	}
}
