package planner

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

func TestRestart(t *testing.T) {
	t.Parallel()
	asked := func(members int, change func(*ops.State)) ops.State {
		s := opstest.Well(members)
		s.Operation = opstest.Operation(v1alpha1.VerbRestart)
		s.Operation.Spec.Pods = map[string]string{}
		for i := range s.Kube.Members {
			m := &s.Kube.Members[i]
			m.Pod.UID = "old-" + m.Name
			s.Operation.Spec.Pods[m.Name] = m.Pod.UID
		}
		if change != nil {
			change(&s)
		}
		return s
	}
	for name, c := range map[string]struct {
		state ops.State
		want  []string
		block string
	}{
		"followers first, the leader last": {state: asked(3, nil),
			want: []string{"restart-member/db-2", "restart-member/db-3", "hand-over/db-2", "restart-member/db-1"}},
		"none twice": {state: asked(3, func(s *ops.State) {
			s.Kube.Members[1].Pod.UID = "new"
		}), want: []string{"restart-member/db-3", "hand-over/db-2", "restart-member/db-1"}},
		"stepping back renews no more": {state: asked(3,
			func(s *ops.State) { s.Operation.Status.Phase = v1alpha1.PhaseCancelling })},
		"another member is down": {state: asked(3, func(s *ops.State) {
			opstest.Down(s, "db-2", "",
				0)
			s.Kube.Members[1].Pod.UID = "new"
		}), block: "db-2 does not answer"},
		"another has lost its volume": {state: asked(3, func(s *ops.State) { opstest.Vanish(s, "db-2") }),
			block: "the volume of db-2 is gone, and no restart brings it back"},
		"a single member": {state: asked(1, nil), block: "a cluster of 1 is down while a member restarts"},
		"a single member, accepted": {state: asked(1,
			func(s *ops.State) { s.Operation.Spec.Waive = []string{"downtime"} }), want: []string{"restart-member/db-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judge(t, opstest.Stub{}, c.state, c.want, c.block)
		})
	}
}
