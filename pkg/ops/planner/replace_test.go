package planner

import (
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

func TestReplace(t *testing.T) {
	t.Parallel()
	asked := func(change func(*ops.State)) ops.State {
		s := opstest.Well(3)
		s.Operation = opstest.Operation(v1alpha1.VerbReplaceMember)
		s.Operation.Spec.Member, s.Operation.Spec.MemberID = "db-3", "id-db-3"
		change(&s)
		return s
	}
	whole := []string{"deregister-member/db-3", "retire-member/db-3", "register-member/db-3", "start-members/db-3",
		"wait/joined", "promote-member/db-3"}
	for name, c := range map[string]struct {
		state ops.State
		want  []string
		block string
	}{
		"its volume is gone": {state: asked(func(s *ops.State) {
			opstest.Down(s, "db-3", observe.ProblemUnschedulable, time.Minute)
			s.Kube.Members[2].Volume = observe.Volume{}
		}), want: whole},
		"its data makes it crash": {state: asked(func(s *ops.State) {
			opstest.Down(s, "db-3", observe.ProblemCrashing,
				time.Hour)
		}), want: whole},
		"its node is gone": {state: asked(func(s *ops.State) {
			opstest.Down(s, "db-3", observe.ProblemNode,
				time.Hour)
		}), want: whole},
		"its node is silent": {state: asked(func(s *ops.State) {
			opstest.Down(s, "db-3", observe.ProblemNode, time.Hour)
			s.Kube.Members[2].Pod.Node = "n3"
		}), block: "node n3, on which db-3 runs, is silent, and nothing shows that it is gone for good"},
		"its node is silent, insisted": {state: asked(func(s *ops.State) {
			opstest.Down(s, "db-3", observe.ProblemNode, time.Hour)
			s.Kube.Members[2].Pod.Node = "n3"
			s.Operation.Spec.Waive = []string{"evidence"}
		}), want: whole},
		"it is well": {state: asked(func(*ops.State) {}), block: "db-3 is healthy: nothing is to be replaced"},
		"it is well, but its volume is being deleted": {
			state: asked(func(s *ops.State) { s.Kube.Members[2].Volume.Terminating = true }), want: whole,
		},
		"it is well, insisted": {state: asked(func(s *ops.State) { s.Operation.Spec.Waive = []string{"evidence"} }),
			want: whole},
		"it is only starting": {state: asked(func(s *ops.State) { opstest.Down(s, "db-3", "", 0) }),
			block: "db-3 is only starting: its volume is there, and nothing is lost"},
		"it lacks memory": {state: asked(func(s *ops.State) { opstest.Down(s, "db-3", observe.ProblemOOM, time.Hour) }),
			block: "db-3 is killed because it ran out of memory: a new volume would not help"},
		"its disk is full": {state: asked(func(s *ops.State) { opstest.Down(s, "db-3", observe.ProblemDisk, time.Hour) }),
			block: "db-3 can't start because its disk is full: its data is whole, and a new volume of the same size " +
				"would be full again"},
		"it lacks a node": {state: asked(func(s *ops.State) {
			opstest.Down(s, "db-3", observe.ProblemUnschedulable,
				time.Hour)
		}), block: "db-3 can't start (as the cluster says), but its data is not lost"},
		"quorum would go": {state: asked(func(s *ops.State) {
			opstest.Down(s, "db-2", "", 0)
			opstest.Down(s, "db-3", observe.ProblemCrashing, time.Hour)
		}), block: "what stays has no quorum"},
		"it was removed already, and joins": {state: asked(func(s *ops.State) {
			dropRegistered(s, "db-3")
			DropMember(s, "db-3")
		}), want: whole[2:]},
		"its successor is a learner already": {state: asked(func(s *ops.State) {
			dropRegistered(s, "db-3")
			DropMember(s, "db-3")
			s.View.MemberList = append(s.View.MemberList, engine.Registered{ID: "new", Name: "db-3"})
		}), want: whole[3:]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := c.state
			s.Operation.Status.Journal = nil
			judge(t, opstest.Stub{}, s, c.want, c.block)
		})
	}
}

// named is an engine of which no two members ever have one name.
type named struct{ opstest.Stub }

func (named) Capabilities() engine.Capabilities {
	return engine.Capabilities{Quorum: true, HandOver: true, NamesOnce: true, MaxMembers: 7}
}

// TestReplaceByAnotherName: a plan names the member that joins as it will be named.
func TestReplaceByAnotherName(t *testing.T) {
	t.Parallel()
	s := opstest.Well(3)
	s.Operation = opstest.Operation(v1alpha1.VerbReplaceMember)
	s.Operation.Spec.Member, s.Operation.Spec.MemberID = "db-3", "id-db-3"
	s.Operation.Spec.Waive = []string{"evidence"}
	judge(t, named{}, s, []string{"deregister-member/db-3", "retire-member/db-3", "register-member/db-4",
		"start-members/db-4", "wait/joined"}, "")
}
