package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// able is an engine of which a test says what it can.
type able struct {
	opstest.Stub
	can engine.Capabilities
}

func (a able) Capabilities() engine.Capabilities { return a.can }

func TestResolve(t *testing.T) {
	t.Parallel()
	const own = "ghcr.io/dbop-dev/kubectl-dbop:v2"
	pinned := &v1alpha1.DatabaseCluster{Spec: v1alpha1.DatabaseClusterSpec{HelperImage: "tool:v1"}}
	agent := engine.Capabilities{Agent: true}
	for name, c := range map[string]struct {
		can    engine.Capabilities
		spec   v1alpha1.DatabaseClusterSpec
		record *v1alpha1.DatabaseCluster
		want   v1alpha1.DatabaseClusterSpec
	}{
		"an engine without an agent": {spec: v1alpha1.DatabaseClusterSpec{Members: 3}, record: pinned,
			want: v1alpha1.DatabaseClusterSpec{Members: 3}},
		"clients that always log in": {can: engine.Capabilities{Login: true},
			want: v1alpha1.DatabaseClusterSpec{Auth: v1alpha1.Auth{Enabled: true}}},
		"a new cluster takes the agent of the operator": {can: agent,
			want: v1alpha1.DatabaseClusterSpec{HelperImage: own}},
		"a new cluster takes it from its mirror": {can: agent,
			spec: v1alpha1.DatabaseClusterSpec{Registry: "mirror.example"},
			want: v1alpha1.DatabaseClusterSpec{Registry: "mirror.example",
				HelperImage: "mirror.example/dbop-dev/kubectl-dbop:v2"}},
		"a newer operator leaves the agent": {can: agent, record: pinned,
			want: v1alpha1.DatabaseClusterSpec{HelperImage: "tool:v1"}},
		"a person chooses the agent": {can: agent, spec: v1alpha1.DatabaseClusterSpec{HelperImage: "tool:v3"},
			record: pinned, want: v1alpha1.DatabaseClusterSpec{HelperImage: "tool:v3"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			custom := &v1alpha1.DatabaseCluster{Spec: c.spec}
			got := Resolve(able{can: c.can}, custom, c.record, own)
			if diff := cmp.Diff(c.want, got.Spec); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.spec, custom.Spec); diff != "" {
				t.Errorf("the object was changed: %s", diff)
			}
			if c.record == nil {
				return
			}
			record := c.record.DeepCopy()
			planner.SyncSettings(Resolve(able{can: c.can}, custom, record, own).Spec, record, false)
			if c.can.Agent && record.Spec.HelperImage != c.want.HelperImage {
				t.Errorf("the record names the agent %s", record.Spec.HelperImage)
			}
		})
	}
}
