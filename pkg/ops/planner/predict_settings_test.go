package planner

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// loading is an engine whose members load each setting but depth, which they take at their start.
type loading struct{ opstest.Stub }

// Options implements engine.Renderer: no setting is part of a pod.
func (loading) Options(*v1alpha1.DatabaseCluster, string) (map[string]string, error) {
	return map[string]string{}, nil
}

func (loading) LiveOptions(spec v1alpha1.DatabaseClusterSpec) (map[string]string, error) {
	return maps.Clone(spec.Config), nil
}

func (loading) AtStart(_ string, options []string) []string {
	return slices.DeleteFunc(slices.Clone(options), func(name string) bool { return name != "depth" })
}

func (loading) Keeps(string) string { return "" }

// LeaderFirst: a depth of 1 must be the leader's first.
func (loading) LeaderFirst(_, want map[string]string) []string {
	if want["depth"] == "1" {
		return []string{"depth"}
	}
	return nil
}

// TestPlanSaysWhoRestarts: a plan of settings names each restart that some of them need.
func TestPlanSaysWhoRestarts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  map[string]string
		want []string
	}{
		"a setting that is loaded": {map[string]string{"speed": "high"}, []string{"change-settings"}},
		"one that needs a start": {map[string]string{"speed": "high", "depth": "2"},
			[]string{"change-settings", "roll-member/db-2", "roll-member/db-3", "hand-over/db-2", "roll-member/db-1"}},
		"one that the leader takes first": {map[string]string{"depth": "1"},
			[]string{"change-settings", "hand-over/db-2", "roll-member/db-1", "roll-member/db-3"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := opstest.Well(3)
			s.Cluster.Spec.Config = map[string]string{"speed": "low"}
			s.View.Settings = maps.Clone(s.Cluster.Spec.Config)
			for i := range s.Kube.Members {
				m := &s.Kube.Members[i]
				m.Workload.Settings = rules.Settings(s, loading{})
				m.Pod.Settings = m.Workload.Settings
			}
			op := opstest.Operation(v1alpha1.VerbConfigure)
			op.Spec.Change = &v1alpha1.SettingsChange{Set: c.set}
			Default(&op.Spec, s.Cluster)
			s = opstest.Doing(s, op, true)
			ApplyTo(s.Cluster, op)
			p := MakePlan(loading{}, s)
			if diff := cmp.Diff(c.want, opstest.IDs(p)); diff != "" {
				t.Errorf("%s\nblocked: %+v", diff, p.Blocked)
			}
			if got := p.Steps[len(p.Steps)-1]; len(c.want) > 1 && (got.Risk != ops.RiskRestart || got.During == nil) {
				t.Errorf("the plan does not say what a restart costs: %+v", got)
			}
		})
	}
}
