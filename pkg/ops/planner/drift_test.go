package planner

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// TestRestartRenders: a plan says which members get another template, and
// settings that come with it are judged before.
func TestRestartRenders(t *testing.T) {
	t.Parallel()
	asked := func(change func(*ops.State)) ops.State {
		s := opstest.Rendered(change)
		s.Operation = opstest.Operation(v1alpha1.VerbRestart)
		s.Operation.Spec.Pods = map[string]string{}
		for i := range s.Kube.Members {
			s.Kube.Members[i].Pod.UID = "old"
			s.Operation.Spec.Pods[s.Kube.Members[i].Name] = "old"
		}
		return s
	}
	renews := func(s ops.State) []string {
		var out []string
		for _, step := range MakePlan(opstest.Stub{}, s).Steps {
			if step.Action == ops.ActionRestart && slices.Contains(step.Touches, "statefulset/"+step.Members[0]) &&
				step.Reason != "" {
				out = append(out, step.Members[0])
			}
		}
		return out
	}
	if got := renews(asked(nil)); got != nil {
		t.Errorf("%v are renewed for nothing", got)
	}
	if diff := cmp.Diff([]string{"db-3", "db-1"}, renews(asked(func(s *ops.State) {
		s.Kube.Members[1].Workload.Rendering, s.Rendering = "new", "new"
		s.Kube.Members[1].Pod.Rendering = "new"
	}))); diff != "" {
		t.Error(diff)
	}
	settings := func(s *ops.State) {
		s.Rendering = "new"
		s.Cluster.Spec.Config = map[string]string{"room": "none"}
	}
	judge(t, opstest.Stub{}, asked(settings), nil, "db-1 has too much data")
	judge(t, opstest.Stub{}, asked(func(s *ops.State) {
		settings(s)
		s.Kube.Members[1].Workload.Rendering, s.Kube.Members[1].Pod.Rendering = "new", "new"
	}), nil, "db-1 has too much data")
	judge(t, opstest.Stub{}, asked(func(s *ops.State) {
		settings(s)
		for i := range s.Kube.Members {
			s.Kube.Members[i].Workload.Settings = rules.Settings(*s, opstest.Stub{})
		}
	}), []string{"restart-member/db-2", "restart-member/db-3", "hand-over/db-2", "restart-member/db-1"}, "")
}
