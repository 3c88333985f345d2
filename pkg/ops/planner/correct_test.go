package planner

import (
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// TestCorrection: initial members get the template of a spec that was corrected before
// the cluster formed, and those of a cluster that formed do not.
func TestCorrection(t *testing.T) {
	t.Parallel()
	stalled := func(change func(*ops.State)) func() ops.State {
		return func() ops.State {
			s := opstest.Wanted(3)
			s.Kube.Certificates, s.Kube.Services, s.Rendering = true, true, "corrected"
			for _, n := range []string{"db-1", "db-2", "db-3"} {
				AddMember(&s, n, true)
				m := &s.Kube.Members[s.MemberIndex(n)]
				m.Workload.Rendering = "corrected"
				m.Pod = observe.Pod{Exists: true, Rendering: "corrected"}
			}
			change(&s)
			return s
		}
	}
	ask(t, opstest.Stub{}, []question{
		{"nothing was corrected", stalled(func(*ops.State) {}), "wait/formed"},
		{"a workload of the former spec", stalled(func(s *ops.State) { s.Kube.Members[1].Workload.Rendering = "former" }),
			"correct-member/db-2"},
		{"a pod of the former spec", stalled(func(s *ops.State) { s.Kube.Members[2].Pod.Rendering = "former" }),
			"correct-member/db-3"},
		{"a pod of the former spec that goes already", stalled(func(s *ops.State) {
			s.Kube.Members[2].Pod.Rendering, s.Kube.Members[2].Pod.Terminating = "former", true
		}), "wait/formed"},
		{"the pull of the former image failed for long", stalled(func(s *ops.State) {
			m := &s.Kube.Members[0]
			m.Workload.Rendering, m.Pod.Rendering = "former", "former"
			m.Pod.Problem = &observe.Problem{Kind: observe.ProblemImage, Since: s.Now.Add(-time.Hour)}
		}), "correct-member/db-1"},
		{"nothing can be rendered", stalled(func(s *ops.State) { s.Rendering = "" }), "wait/formed"},
		{"a restore in place", stalled(func(s *ops.State) {
			s.Cluster.Status.Bootstrap.Incarnation, s.Kube.Members[1].Workload.Rendering = 1, "former"
		}), "wait/formed"},
		{"a cluster that formed", func() ops.State {
			s := opstest.Well(3)
			s.Rendering = "new"
			s.Kube.Members[1].Workload.Rendering = "former"
			return s
		}, "done"},
	})
	agreed := func(value string) func() ops.State {
		return stalled(func(s *ops.State) {
			s.Cluster.Spec.Config = map[string]string{"speed": value}
			s.View.Quorum, s.View.Settings = true, map[string]string{"speed": "high"}
		})
	}
	ask(t, loading{}, []question{
		{"the members agreed on what is wanted", agreed("high"), "wait/formed"},
		{"the members agreed on what was corrected since", agreed("low"), "change-settings"},
	})
	s := stalled(func(s *ops.State) { s.Kube.Members[1].Workload.Rendering = "former" })()
	if n := Predict(opstest.Stub{}, s, *Decide(opstest.Stub{}, s).Step); rules.Outdated(n, n.Kube.Members[1]) {
		t.Error("the plan would repeat the step for ever")
	}
}
