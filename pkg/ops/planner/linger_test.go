package planner

import (
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// TestDecideLingering: a pod that was told to go is waited for, and where its
// node is silent a person is asked; by itself nothing is done to it.
func TestDecideLingering(t *testing.T) {
	t.Parallel()
	// told is a cluster of which db-3 was told to go.
	told := func(verb v1alpha1.Verb, to int32, change func(*ops.State)) func() ops.State {
		return sized(verb, to, func(s *ops.State) {
			opstest.Down(s, "db-3", observe.ProblemNode, time.Minute)
			m := &s.Kube.Members[2]
			m.Workload = observe.Workload{}
			m.Pod.Node, m.Pod.Terminating = "n3", true
			change(s)
		})
	}
	left := func(s *ops.State) {
		dropRegistered(s, "db-3")
		s.Cluster.Status.Bootstrap.Remove("db-3", true)
	}
	alone := func(s *ops.State) {
		s.Operation.Spec.Waive = []string{"backup"}
		s.Kube.Members = s.Kube.Members[2:]
		s.View.Members, s.View.Quorum, s.View.MemberList = nil, false, nil
	}
	ask(t, opstest.Stub{}, []question{
		{"its node is silent", told(v1alpha1.VerbScale, 2, left), "blocked NeedsHuman silent-node"},
		{"its node answers", told(v1alpha1.VerbScale, 2,
			func(s *ops.State) { left(s); s.Kube.Members[2].Pod.Problem = nil }),
			"retire-member/db-3"},
		{"its workload is there still", told(v1alpha1.VerbScale, 2,
			func(s *ops.State) {
				left(s)
				s.Kube.Members[2].Workload = observe.Workload{Exists: true,
					Token: "t"}
			}), "retire-member/db-3"},
		{"it was not told yet", told(v1alpha1.VerbScale, 2,
			func(s *ops.State) { left(s); s.Kube.Members[2].Pod.Terminating = false }), "retire-member/db-3"},
		{"it is gone", told(v1alpha1.VerbScale, 2, func(s *ops.State) { left(s); s.Kube.Members[2].Pod = observe.Pod{} }),
			"retire-member/db-3"},
		{"a deletion, others are to be stopped", told(v1alpha1.VerbDelete, 3,
			func(s *ops.State) { s.Operation.Spec.Waive = []string{"backup"} }), "stop-members"},
		{"a deletion, it alone is left", told(v1alpha1.VerbDelete, 3, alone), "blocked NeedsHuman silent-node"},
		{"a stop, it alone is left", told(v1alpha1.VerbStop, 3,
			func(s *ops.State) { alone(s); s.Cluster.Spec.Stopped = true }), "blocked NeedsHuman silent-node"},
	})
	d := Decide(opstest.Stub{}, told(v1alpha1.VerbScale, 2, left)())
	if d.Blocked == nil || !strings.Contains(d.Blocked.Hint, "kubectl delete node n3") {
		t.Errorf("it does not say what to do: %+v", d.Blocked)
	}
}
