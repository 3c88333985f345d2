package runner

import (
	"maps"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// live is an engine whose members agree on their settings.
type live struct{ opstest.Stub }

func (live) LiveOptions(spec v1alpha1.DatabaseClusterSpec) (map[string]string, error) {
	return maps.Clone(spec.Config), nil
}

func (live) AtStart(string, []string) []string { return nil }

func (live) Keeps(string) string { return "" }

func (live) LeaderFirst(map[string]string, map[string]string) []string { return nil }

// TestSettingsRefused: a value that the database would not take changes nothing, so it leaves no operation in flight,
// and not in the record either. Where a step came before, or the outcome is not known, a person decides.
func TestSettingsRefused(t *testing.T) {
	t.Parallel()
	refusal := &engine.Refusal{Check: "settings", Reason: "invalid value for parameter"}
	unknown := &ops.Error{Kind: ops.Failed, Message: "the connection broke"}
	for name, c := range map[string]struct {
		by    string
		fails error
		phase v1alpha1.Phase
		value string
	}{
		"a value that is refused": {"amy", refusal, v1alpha1.PhaseFailed, ""},
		"an unknown outcome":      {"amy", unknown, v1alpha1.PhasePaused, "much"},
		"a custom resource":       {planner.DesiredBy, refusal, v1alpha1.PhasePaused, "much"},
	} {
		for driver, run := range drivers() {
			t.Run(name+", "+driver, func(t *testing.T) {
				onShelf(t, func(sh *shelf, r *Runner) {
					state := opstest.Well(3)
					state.View.Settings = map[string]string{}
					w := newIdeal(state)
					w.perform = func(s ops.Step) error {
						if s.Action == ops.ActionConfigure {
							return c.fails
						}
						return nil
					}
					r.Engine, r.Cluster = live{}, func(string, string) ops.ClosableCluster { return shelved{w, sh} }
					err := run(r, planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db",
						Verb: v1alpha1.VerbConfigure, RequestedBy: c.by,
						SettingsParameters: v1alpha1.SettingsParameters{
							Change: &v1alpha1.SettingsChange{Set: map[string]string{"work-mem": "much"}}}}})
					if err == nil || !strings.Contains(err.Error(), c.fails.Error()) {
						t.Fatalf("it ends with %v", err)
					}
					op := sh.operations[0]
					if got := sh.cluster.Spec.Config["work-mem"]; op.Status.Phase != c.phase || got != c.value {
						t.Errorf("%s, the record wants %q: %v", op.Status.Phase, got, err)
					}
				})
			})
		}
	}
}
