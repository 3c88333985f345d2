package planner

import (
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

func TestHold(t *testing.T) {
	t.Parallel()
	asked := func(end bool, change func(*ops.State)) ops.State {
		s := opstest.Well(3)
		s.Operation = opstest.Operation(v1alpha1.VerbHold)
		s.Operation.Spec.HoldEnd, s.Operation.Spec.HoldFor.Duration = end, time.Hour
		if change != nil {
			change(&s)
		}
		return s
	}
	held := func(s *ops.State) { s.View.Hold = &engine.Hold{By: "alice"} }
	const noQuorum = "no quorum: 3 of 3 members answer, and no majority agrees on a leader"
	for name, c := range map[string]struct {
		state ops.State
		want  []string
		block string
	}{
		"it begins":                   {state: asked(false, nil), want: []string{"hold"}},
		"another one takes its place": {state: asked(false, held), want: []string{"hold"}},
		"it began":                    {state: asked(false, func(s *ops.State) { s.SetFact(v1alpha1.FactHeld) })},
		"it ends":                     {state: asked(true, held), want: []string{"hold"}},
		"there is none to end":        {state: asked(true, nil)},
		"it ends while nobody leads": {state: asked(true, func(s *ops.State) {
			held(s)
			opstest.Down(s, "db-1", "", 0)
			for i := range s.View.Members {
				s.View.Members[i].Role, s.View.Members[i].Leader = engine.RoleReplica, ""
			}
		}), want: []string{"hold"}},
		"stepping back changes nothing": {state: asked(false, func(s *ops.State) {
			s.Operation.Status.Phase = v1alpha1.PhaseCancelling
		})},
		"without quorum nobody agrees": {state: asked(false, func(s *ops.State) { opstest.NoQuorum(s) }), block: noQuorum},
		"nor on its end":               {state: asked(true, func(s *ops.State) { opstest.NoQuorum(s) }), block: noQuorum},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judge(t, opstest.Stub{}, c.state, c.want, c.block)
		})
	}
	s := opstest.Well(3)
	held(&s)
	s.Operation = opstest.Operation(v1alpha1.VerbSwitchover)
	s.Operation.Spec.Member = "db-2"
	judge(t, opstest.Stub{}, s, nil,
		"db-1 can't hand leadership over: a hold is in force until somebody ends it, asked for by alice")
}
