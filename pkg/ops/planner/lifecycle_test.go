package planner

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

func TestStopAndStart(t *testing.T) {
	t.Parallel()
	asked := func(verb v1alpha1.Verb, change func(*ops.State)) ops.State {
		s := opstest.Well(3)
		s.Operation = opstest.Operation(verb)
		s.Cluster.Spec.Stopped = verb == v1alpha1.VerbStop
		if change != nil {
			change(&s)
		}
		return s
	}
	halted := func(s *ops.State) {
		stopped(s, []string{"db-1", "db-2", "db-3"})
	}
	for name, c := range map[string]struct {
		state ops.State
		want  []string
		block string
	}{
		"stop":            {state: asked(v1alpha1.VerbStop, nil), want: []string{"stop-members"}},
		"stopped already": {state: asked(v1alpha1.VerbStop, halted)},
		"start brings all back": {state: asked(v1alpha1.VerbStart, halted),
			want: []string{"start-members/db-1,db-2,db-3", "wait/quorum"}},
		"runs already": {state: asked(v1alpha1.VerbStart, nil)},
		"a stopped cluster takes no other verb": {state: asked(v1alpha1.VerbScale, func(s *ops.State) {
			halted(s)
			s.Cluster.Spec.Stopped = true
		}), block: "db is stopped"},
		"a workload that somebody deleted returns": {state: asked(v1alpha1.VerbStart, func(s *ops.State) {
			opstest.Down(s, "db-2", "", 0)
			s.Kube.Members[1].Workload, s.Kube.Members[1].Pod = observe.Workload{}, observe.Pod{}
		}), want: []string{"start-members/db-2", "wait/healthy"}},
		"a volume of an earlier incarnation stays at rest": {state: asked(v1alpha1.VerbStart, func(s *ops.State) {
			s.Kube.Members = append(s.Kube.Members, observe.Member{Name: "db-9",
				Volume: observe.Volume{Exists: true, Token: "earlier"}})
		})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judge(t, opstest.Stub{}, c.state, c.want, c.block)
		})
	}
}
