package planner

import (
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// TestWayBackWithoutALostMember: another may restart as long as a majority
// stays, and who is lost has to be replaced first where none would.
func TestWayBackWithoutALostMember(t *testing.T) {
	t.Parallel()
	ask(t, opstest.Stub{}, []question{
		{"on the way there it is paused", opstest.Upgrading(5, []string{"db-2", "db-4"},
			func(s *ops.State) { opstest.Without(s, "db-4") }), "blocked NeedsHuman lost"},
		{"a majority stays", opstest.Upgrading(5, []string{"db-2"},
			func(s *ops.State) { opstest.Without(s, "db-4"); opstest.Cancelling(s) }), "upgrade-member/db-2"},
		{"none would", opstest.Upgrading(3, []string{"db-2"},
			func(s *ops.State) { opstest.Without(s, "db-3"); opstest.Cancelling(s) }), "blocked NeedsHuman lost"},
		{"who has moved was lost", opstest.Upgrading(3, []string{"db-2"},
			func(s *ops.State) { opstest.Without(s, "db-2"); opstest.Cancelling(s) }), "upgrade-member/db-2"},
		{"nobody has moved", opstest.Upgrading(3, nil, func(s *ops.State) {
			opstest.Without(s,
				"db-3")
			opstest.Cancelling(s)
		}), "done"},
		{"all are back", opstest.Upgrading(5, nil, func(s *ops.State) {
			opstest.Down(s, "db-4", observe.ProblemNode,
				time.Hour)
			opstest.Cancelling(s)
		}), "done"},
		{"one that has just started to crash is waited for", opstest.Upgrading(5, []string{"db-2"}, func(s *ops.State) {
			opstest.Down(s, "db-4", observe.ProblemCrashing, time.Second)
			opstest.Cancelling(s)
		}), "wait/healthy"},
	})
}
