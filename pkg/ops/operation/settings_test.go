package operation_test

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// leasing is an engine whose members keep the lease with which they were made.
type leasing struct{ opstest.Engine }

func (leasing) AtStart(string, []string) []string                                   { return nil }
func (leasing) LeaderFirst(map[string]string, map[string]string) []string           { return nil }
func (leasing) Keeps(string) string                                                 { return "" }
func (leasing) FixedOptions() []string                                              { return []string{"lease"} }
func (leasing) CheckSettings(engine.View, v1alpha1.DatabaseClusterSpec, bool) error { return nil }

func (leasing) LiveOptions(spec v1alpha1.DatabaseClusterSpec) (map[string]string, error) {
	lease, given := spec.Config["lease"]
	switch {
	case !given || lease == "7000ms":
		lease = "7s"
	case lease == "0s":
		return nil, &engine.Refusal{Check: "settings", Reason: "raise lease"}
	}
	return map[string]string{"lease": lease, "other": spec.Config["other"]}, nil
}

// TestConfigureFixed: what is given when a cluster is made stays.
func TestConfigureFixed(t *testing.T) {
	t.Parallel()
	given := map[string]string{"lease": "9s"}
	for name, c := range map[string]struct {
		have, set map[string]string
		unset     []string
		want      string
	}{
		"another lease":           {nil, given, nil, "the option lease of db is 7s, and stays so"},
		"the lease taken back":    {given, nil, []string{"lease"}, "the option lease of db is 9s, and stays so"},
		"the same in other words": {nil, map[string]string{"lease": "7000ms"}, nil, ""},
		"another option":          {given, map[string]string{"other": "1"}, nil, ""},
		"one that breaks a rule":  {nil, map[string]string{"lease": "0s"}, nil, "raise lease"},
		"back to one that works":  {map[string]string{"lease": "0s"}, given, nil, ""},
	} {
		cluster := &v1alpha1.DatabaseCluster{}
		cluster.Name, cluster.Spec.Config = "db", c.have
		var o v1alpha1.OperationSpec
		o.Change = &v1alpha1.SettingsChange{Set: c.set, Unset: c.unset}
		operation.Configure{}.Default(&o, cluster)
		err := operation.Configure{}.Check(leasing{}, o, cluster, nil)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
