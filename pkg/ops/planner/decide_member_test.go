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

// sized is a healthy cluster of three that is on its way to another size.
func sized(verb v1alpha1.Verb, to int32, change func(*ops.State)) func() ops.State {
	return func() ops.State {
		s := opstest.Doing(opstest.Well(3), opstest.Operation(verb), false)
		s.Cluster.Spec.Members = to
		b := max(to/2+1, 2)
		s.Kube.Budget = &b
		change(&s)
		return s
	}
}

func TestDecideJoining(t *testing.T) {
	t.Parallel()
	learner := func(s *ops.State) {
		s.View.MemberList = append(s.View.MemberList, engine.Registered{ID: "n", Name: "db-4"})
	}
	ask(t, opstest.Stub{}, []question{
		{"registers a learner", sized(v1alpha1.VerbScale, 5, func(*ops.State) {}), "register-member/db-4"},
		{"skips a name that a kept volume bears", sized(v1alpha1.VerbScale, 5, func(s *ops.State) {
			s.Kube.Members = append(s.Kube.Members, observe.Member{Name: "db-4",
				Volume: observe.Volume{Exists: true, Token: "old"}})
		}), "register-member/db-5"},
		{"starts what is registered", sized(v1alpha1.VerbScale, 5, learner), "start-members/db-4"},
		{"a volume without a workload", sized(v1alpha1.VerbScale, 5, func(s *ops.State) {
			learner(s)
			s.Kube.Members = append(s.Kube.Members, observe.Member{Name: "db-4",
				Volume: observe.Volume{Exists: true, Token: "t"}})
		}), "start-members/db-4"},
		{"waits for its pod", sized(v1alpha1.VerbScale, 5, func(s *ops.State) { learner(s); AddMember(s, "db-4", false) }),
			"wait/joined"},
		{"names what keeps it", sized(v1alpha1.VerbScale, 5, func(s *ops.State) {
			learner(s)
			AddMember(s, "db-4", false)
			opstest.Down(s, "db-4", observe.ProblemUnschedulable, time.Minute)
		}), "blocked NeedsHuman Unschedulable"},
		{"waits until it announced itself", sized(v1alpha1.VerbScale, 5, func(s *ops.State) {
			opstest.Join(s, "db-4", false)
			s.View.MemberList[3].Started = false
		}), "wait/joined"},
		{"promotes it", sized(v1alpha1.VerbScale, 5, func(s *ops.State) { opstest.Join(s, "db-4", false) }),
			"promote-member/db-4"},
		{"promotes it although its pod is not ready", sized(v1alpha1.VerbScale, 5, func(s *ops.State) {
			opstest.Join(s, "db-4", false)
			s.Kube.Members[3].Pod.Ready = false
		}), "promote-member/db-4"},
		{"withdraws it when nobody wants it", sized(v1alpha1.VerbScale, 3,
			func(s *ops.State) { opstest.Join(s, "db-4", false) }), "deregister-member/db-4"},
		{"cancelled while it is short anyhow: keeps it", sized(v1alpha1.VerbUpgrade, 5, func(s *ops.State) {
			opstest.Join(s, "db-4", false)
			s.Operation.Status.Phase = v1alpha1.PhaseCancelling
		}), "promote-member/db-4"},
		{"a member is down, and nothing was done yet", sized(v1alpha1.VerbScale, 5, func(s *ops.State) {
			s.Operation.Status.Journal = nil
			opstest.Down(s, "db-3", "", 0)
		}), "blocked Refused members-healthy"},
		{"a member is down, half way", sized(v1alpha1.VerbScale, 5, func(s *ops.State) { opstest.Down(s, "db-3", "", 0) }),
			"wait/may-add"},
		{"no quorum, nothing done yet", sized(v1alpha1.VerbScale, 5,
			func(s *ops.State) { s.Operation.Status.Journal = nil; opstest.NoQuorum(s) }), "blocked Refused quorum"},
		{"no quorum, half way", sized(v1alpha1.VerbScale, 5, func(s *ops.State) { opstest.NoQuorum(s) }), "wait/quorum"},
	})
}

func TestDecideLeaving(t *testing.T) {
	t.Parallel()
	gone := func(name string) func(*ops.State) {
		return func(s *ops.State) {
			dropRegistered(s, name)
			s.Cluster.Status.Bootstrap.Remove(name, true)
		}
	}
	remove := func(name string, change func(*ops.State)) func() ops.State {
		return sized(v1alpha1.VerbRemoveMember, 2, func(s *ops.State) { s.Operation.Spec.Member = name; change(s) })
	}
	ask(t, opstest.Stub{}, []question{
		{"removes the named one", remove("db-2", func(*ops.State) {}), "deregister-member/db-2"},
		{"moves leadership away first", remove("db-1", func(*ops.State) {}), "hand-over/db-2"},
		{"nobody to hand over to: still removes", remove("db-1", func(s *ops.State) {
			for i := range s.View.Members {
				s.View.Members[i].Role = engine.RoleFollower
			}
		}), "deregister-member/db-1"},
		{"never another one than the named", remove("db-9", func(s *ops.State) { s.Operation.Status.Journal = nil }),
			"blocked Refused unknown-member"},
		{"retires what is not listed any more", sized(v1alpha1.VerbScale, 2, gone("db-3")), "retire-member/db-3"},
		{"retires what is left: a volume", sized(v1alpha1.VerbScale, 2, func(s *ops.State) {
			gone("db-3")(s)
			s.Kube.Members[2].Workload, s.Kube.Members[2].Pod = observe.Workload{}, observe.Pod{}
		}), "retire-member/db-3"},
		{"never one that somebody else took out of the list",
			sized(v1alpha1.VerbScale, 2, func(s *ops.State) { dropRegistered(s, "db-3") }), "done"},
		{"what is left of the one that is named", remove("db-3", func(s *ops.State) { dropRegistered(s, "db-3") }),
			"retire-member/db-3"},
		{"never a volume of another incarnation", sized(v1alpha1.VerbScale, 3, func(s *ops.State) {
			s.Kube.Members = append(s.Kube.Members, observe.Member{Name: "db-7",
				Volume: observe.Volume{Exists: true, Token: "old"}})
		}), "done"},
		{"never without quorum", sized(v1alpha1.VerbScale, 2, func(s *ops.State) { gone("db-3")(s); opstest.NoQuorum(s) }),
			"wait/quorum"},
		{"the unhealthy one goes first", sized(v1alpha1.VerbScale, 2,
			func(s *ops.State) { opstest.Down(s, "db-2", "", 0) }),
			"deregister-member/db-2"},
		{"not the only copy", remove("db-3", func(s *ops.State) {
			dropRegistered(s, "db-3")
			s.Operation.Status.Journal = nil
			opstest.Down(s, "db-1", "", 0)
			opstest.Down(s, "db-2", "", 0)
		}), "blocked Refused evidence"},
		{"writes down that one stays whose removal was given up", sized(v1alpha1.VerbScale, 3, func(s *ops.State) {
			s.Cluster.Status.Bootstrap.Removing = []string{"db-9", "db-3"}
		}), "keep-member/db-3"},
		{"not while it is still to go", sized(v1alpha1.VerbScale, 2, func(s *ops.State) {
			s.Cluster.Status.Bootstrap.Removing = []string{"db-3"}
		}), "deregister-member/db-3"},
		{"never a healthy one if too few would stay", remove("db-2", func(s *ops.State) {
			s.Operation.Status.Journal = nil
			opstest.Down(s, "db-3", "", 0)
		}), "blocked Refused quorum"},
	})
}
