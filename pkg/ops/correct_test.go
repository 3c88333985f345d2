package ops

import (
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// TestCorrection: founders get the template of a spec that was corrected before
// the cluster formed, and those of a cluster that formed do not.
func TestCorrection(t *testing.T) {
	t.Parallel()
	stalled := func(change func(*State)) func() State {
		return func() State {
			s := wanted(3)
			s.Kube.Certificates, s.Kube.Services, s.Rendering = true, true, "corrected"
			for _, n := range []string{"db-1", "db-2", "db-3"} {
				s.addMember(n, true)
				m := &s.Kube.Members[s.memberIndex(n)]
				m.Workload.Rendering = "corrected"
				m.Pod = kube.Pod{Exists: true, Rendering: "corrected"}
			}
			change(&s)
			return s
		}
	}
	ask(t, stub{}, []question{
		{"nothing was corrected", stalled(func(*State) {}), "wait/formed"},
		{"a workload of the former spec", stalled(func(s *State) { s.Kube.Members[1].Workload.Rendering = "former" }), "correct-member/db-2"},
		{"a pod of the former spec", stalled(func(s *State) { s.Kube.Members[2].Pod.Rendering = "former" }), "correct-member/db-3"},
		{"a pod of the former spec that goes already", stalled(func(s *State) {
			s.Kube.Members[2].Pod.Rendering, s.Kube.Members[2].Pod.Terminating = "former", true
		}), "wait/formed"},
		{"the pull of the former image failed for long", stalled(func(s *State) {
			m := &s.Kube.Members[0]
			m.Workload.Rendering, m.Pod.Rendering = "former", "former"
			m.Pod.Problem = &kube.Problem{Kind: kube.ProblemImage, Since: s.Now.Add(-time.Hour)}
		}), "correct-member/db-1"},
		{"nothing can be rendered", stalled(func(s *State) { s.Rendering = "" }), "wait/formed"},
		{"a restore in place", stalled(func(s *State) {
			s.Cluster.Status.Formation.Epoch, s.Kube.Members[1].Workload.Rendering = 1, "former"
		}), "wait/formed"},
		{"a cluster that formed", func() State {
			s := well(3)
			s.Rendering = "new"
			s.Kube.Members[1].Workload.Rendering = "former"
			return s
		}, "done"},
	})
	s := stalled(func(s *State) { s.Kube.Members[1].Workload.Rendering = "former" })()
	if n := Predict(stub{}, s, *Decide(stub{}, s).Step); n.outdated(n.Kube.Members[1]) {
		t.Error("the plan would repeat the step for ever")
	}
}
