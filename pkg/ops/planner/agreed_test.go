package planner

import (
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// agreed is an engine whose members become whole ones by themselves, of which a
// pair has a witness, and where a leader may go only when somebody takes over.
type agreed struct{ opstest.Stub }

func (agreed) Capabilities() engine.Capabilities {
	return engine.Capabilities{Quorum: true, HandOver: true, MaxMembers: 7}
}

func (agreed) Witnesses(spec v1alpha1.DatabaseClusterSpec) int {
	if spec.Members == 2 {
		return 1
	}
	return 0
}

func (agreed) AssessLoss(engine.View, string) string { return "what only it has" }

func (a agreed) Successor(v engine.View, except ...string) string {
	if v.Members[0].Problem == "alone" {
		return ""
	}
	return a.Stub.Successor(v, except...)
}

func TestDecideAgreed(t *testing.T) {
	t.Parallel()
	alone := func(change func(*ops.State)) func() ops.State {
		return sized(v1alpha1.VerbRemoveMember, 1, func(s *ops.State) {
			s.Operation.Spec.Member, s.View.Members[0].Problem = "db-1", "alone"
			change(s)
		})
	}
	witness := func(name string) func(*ops.State) {
		return func(s *ops.State) {
			for i := range s.View.MemberList {
				r := &s.View.MemberList[i]
				r.Witness = r.Name == name
			}
			b := ops.BudgetOf(agreed{}, *s)
			s.Kube.Budget = &b
		}
	}
	ask(t, agreed{}, []question{
		{"registers a member that joins", sized(v1alpha1.VerbScale, 4, func(*ops.State) {}), "register-member/db-4"},
		{"waits for it", sized(v1alpha1.VerbScale, 4, func(s *ops.State) {
			s.View.MemberList = append(s.View.MemberList, engine.Registered{ID: "4", Name: "db-4", Started: true})
			s.View.Members = append(s.View.Members, engine.Member{Name: "db-4", ID: "4", Reachable: true})
			AddMember(s, "db-4", false)
		}), "wait/joined"},
		{"a spare one is whole", sized(v1alpha1.VerbScale, 3,
			func(s *ops.State) { s.View.MemberList[2].Voter, s.View.MemberList[2].Spare = false, true }), "done"},
		{"a pair and its witness", sized(v1alpha1.VerbScale, 2, witness("db-3")), "done"},
		{"a pair gets a witness before a third member leaves", sized(v1alpha1.VerbScale, 2, func(s *ops.State) {}),
			"register-member/db-4"},
		{"then the third leaves", sized(v1alpha1.VerbScale, 2, func(s *ops.State) {
			opstest.Join(s, "db-4", true)
			witness("db-4")(s)
		}), "deregister-member/db-3"},
		{"a third member joins before the witness leaves", sized(v1alpha1.VerbScale, 3, witness("db-3")),
			"register-member/db-4"},
		{"then the witness leaves", sized(v1alpha1.VerbScale, 3, func(s *ops.State) {
			opstest.Join(s, "db-4", true)
			witness("db-3")(s)
		}), "deregister-member/db-3"},
		{"a single member needs no witness", sized(v1alpha1.VerbScale, 1, func(s *ops.State) {
			witness("db-3")(s)
			dropRegistered(s, "db-2")
			s.Kube.Members = append(s.Kube.Members[:1:1], s.Kube.Members[2])
			b := ops.BudgetOf(agreed{}, *s)
			s.Kube.Budget = &b
		}), "deregister-member/db-3"},
		{"two that lead", sized(v1alpha1.VerbScale, 4, func(s *ops.State) { s.View.Members[1].Role = engine.RoleLeader }),
			"wait/two-leaders"},
		{"one that believes so and does not serve", sized(v1alpha1.VerbScale, 4, func(s *ops.State) {
			s.View.Members[1].Role, s.View.Members[1].Serving = engine.RoleLeader, false
		}), "wait/may-add"},
		{"nobody takes over", alone(func(*ops.State) {}), "wait/successor"},
		{"nobody takes over, asked for the first time", alone(func(s *ops.State) {
			s.Operation.Status.Journal, s.Operation.ResourceVersion = nil, ""
		}), "blocked Refused successor"},
		{"nobody is known to lead", alone(func(s *ops.State) { s.View.Members[0].Role = engine.RoleReplica }),
			"wait/successor"},
		{"the one that leads by its own word does not serve", alone(func(s *ops.State) {
			s.View.Members[0].Role = engine.RoleReplica
			s.View.Members = append(s.View.Members, engine.Member{Name: "db-9", Reachable: true, Role: engine.RolePrimary})
		}), "wait/successor"},
		{"nobody is known to lead, and the one that leaves can't start", alone(func(s *ops.State) {
			opstest.Down(s, "db-1", observe.ProblemCrashing, time.Hour)
		}), "deregister-member/db-1"},
		{"nobody takes over, and somebody insists",
			alone(func(s *ops.State) { s.Operation.Spec.Waive = []string{"successor"} }), "deregister-member/db-1"},
	})
	s := alone(func(s *ops.State) { s.Operation.Spec.Waive = []string{"successor"} })()
	if d := Decide(agreed{}, s); d.Step == nil || !strings.Contains(d.Step.Reason, "what only it has") ||
		d.Step.Risk != ops.RiskIrreversible {
		t.Errorf("the step does not say what may be lost: %+v", d.Step)
	}
}
