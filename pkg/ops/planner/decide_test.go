package planner

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// decision is what a table expects: a step's identifier, "blocked KIND CHECK" or "done".
func decision(d ops.Decision) string {
	switch {
	case d.Blocked != nil:
		return fmt.Sprintf("blocked %s %s", d.Blocked.Kind, d.Blocked.Check)
	case d.Step != nil:
		return d.Step.ID
	case d.Done:
		return "done"
	}
	return "nothing at all"
}

// question is one row: a state, and what comes next.
type question struct {
	name  string
	state func() ops.State
	want  string
}

func ask(t *testing.T, e engine.Engine, rows []question) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			s := row.state()
			before := Clone(s)
			d := Decide(e, s)
			if got := decision(d); got != row.want {
				t.Errorf("Decide() = %q, want %q", got, row.want)
			}
			if diff := cmp.Diff(before, s); diff != "" {
				t.Errorf("Decide changed its input (-before +after):\n%s", diff)
			}
			if d.Blocked != nil && (d.Blocked.Message == "" ||
				(d.Blocked.Hint == "" && d.Blocked.Check != "members-healthy" &&
					d.Blocked.Check != "quorum" && d.Blocked.Check != "skipped-minor" && d.Blocked.Check != "rollback")) {
				t.Errorf("a block without message or hint: %+v", d.Blocked)
			}
			if d.Step != nil && (d.Step.Title == "" || d.Step.Deadline <= 0 || d.Step.Risk == "") {
				t.Errorf("a step without title, risk or deadline: %+v", d.Step)
			}
		})
	}
}

func TestDecideAtRest(t *testing.T) {
	t.Parallel()
	ask(t, opstest.Stub{}, []question{
		{"no cluster", func() ops.State { return ops.State{Now: opstest.Now()} }, "done"},
		{"one member", func() ops.State { return opstest.Well(1) }, "done"},
		{"three members", func() ops.State { return opstest.Well(3) }, "done"},
		{"a voter is down", func() ops.State { s := opstest.Well(3); opstest.Down(&s, "db-3", "", 0); return s },
			"wait/healthy"},
		{"a voter is stuck for long", func() ops.State {
			s := opstest.Well(3)
			opstest.Down(&s, "db-3", observe.ProblemImage, time.Minute)
			return s
		}, "blocked NeedsHuman ImagePull"},
		{"a lost voter does not bar the way to its replacement", func() ops.State {
			s := opstest.Doing(opstest.Well(3), opstest.Operation(v1alpha1.VerbRemoveMember), false)
			opstest.Down(&s, "db-3", observe.ProblemCrashing, time.Hour)
			return s
		}, "done"},
		{"a voter lost its volume", func() ops.State { s := opstest.Well(3); opstest.Vanish(&s, "db-3"); return s },
			"blocked NeedsHuman lost"},
		{"a refusal before it is written down", func() ops.State {
			s := opstest.Doing(opstest.Well(3), opstest.Operation(v1alpha1.VerbRestart), true)
			opstest.Down(&s, "db-3", "", 0)
			s.Operation.Spec.Pods = map[string]string{"db-2": "old"}
			s.Kube.Members[1].Pod.UID = "old"
			return s
		}, "blocked Refused healthy"},
		{"a wait once it is written down", func() ops.State {
			s := opstest.Doing(opstest.Well(3), opstest.Operation(v1alpha1.VerbRestart), true)
			opstest.Down(&s, "db-3", "", 0)
			s.Operation.Spec.Pods = map[string]string{"db-2": "old"}
			s.Kube.Members[1].Pod.UID = "old"
			s.Operation.ResourceVersion = "1"
			return s
		}, "wait/healthy"},
		{"no quorum once it is written down", func() ops.State {
			s := opstest.Doing(opstest.Well(3), opstest.Operation(v1alpha1.VerbRestart), true)
			opstest.NoQuorum(&s)
			s.Operation.ResourceVersion = "1"
			return s
		}, "wait/quorum"},
		{"the lost member leaves, and the others are not fit for a moment", func() ops.State {
			s := opstest.Doing(opstest.Well(3), opstest.Operation(v1alpha1.VerbReplaceMember), false)
			s.Operation.Spec.Member, s.Operation.Spec.MemberID = "db-3", "id-db-3"
			opstest.Vanish(&s, "db-3")
			opstest.Down(&s, "db-2", "", 0)
			return s
		}, "wait/may-remove"},
		{"no majority for a moment, and a lost member", func() ops.State {
			s := opstest.Doing(opstest.Well(3), opstest.Operation(v1alpha1.VerbScale), false)
			opstest.NoQuorum(&s)
			opstest.Vanish(&s, "db-3")
			return s
		}, "wait/quorum"},
		{"no majority, and a lost member", func() ops.State {
			s := opstest.Doing(opstest.Well(3), opstest.Operation(v1alpha1.VerbScale), false)
			opstest.NoQuorum(&s)
			opstest.Vanish(&s, "db-2")
			opstest.Vanish(&s, "db-3")
			return s
		}, "blocked NeedsHuman lost"},
		{"a voter is stuck for a moment", func() ops.State {
			s := opstest.Well(3)
			opstest.Down(&s, "db-3", observe.ProblemImage, time.Second)
			return s
		}, "wait/healthy"},
	})
}

func TestDecideFounding(t *testing.T) {
	t.Parallel()
	half := func(change func(*ops.State)) func() ops.State {
		return func() ops.State {
			s := opstest.Wanted(3)
			s.Kube.Certificates, s.Kube.Services = true, true
			change(&s)
			return s
		}
	}
	started := func(s *ops.State) {
		for _, n := range []string{"db-1", "db-2", "db-3"} {
			opstest.Join(s, n, true)
			s.Kube.Members[len(s.Kube.Members)-1].Workload.Bootstrap = true
		}
		s.View.Quorum, s.View.ClusterIDs = true, []string{"id"}
	}
	ask(t, opstest.Stub{}, []question{
		{"fresh", func() ops.State { return opstest.Wanted(3) }, "create-certificates"},
		{"certificates made", func() ops.State { s := opstest.Wanted(3); s.Kube.Certificates = true; return s },
			"create-services"},
		{"services made", half(func(*ops.State) {}), "start-members/db-1,db-2,db-3"},
		{"one member started", half(func(s *ops.State) { AddMember(s, "db-1", true) }), "start-members/db-2,db-3"},
		{"a volume without its workload", half(func(s *ops.State) {
			AddMember(s, "db-1", true)
			AddMember(s, "db-2", true)
			AddMember(s, "db-3", true)
			s.Kube.Members[1].Workload = observe.Workload{}
		}), "start-members/db-2"},
		{"all started, none answers", half(func(s *ops.State) {
			AddMember(s, "db-1", true)
			AddMember(s, "db-2", true)
			AddMember(s, "db-3", true)
		}), "wait/formed"},
		{"two of three serve", half(func(s *ops.State) { started(s); opstest.Down(s, "db-3", "", 0) }), "wait/formed"},
		{"an image that can't be pulled", half(func(s *ops.State) {
			started(s)
			opstest.Down(s, "db-3", observe.ProblemImage,
				time.Minute)
		}), "blocked NeedsHuman ImagePull"},
		{"all serve", half(started), "record-bootstrap"},
		{"recorded, not checked", half(func(s *ops.State) { started(s); s.Cluster.Status.Bootstrap.ClusterID = "id" }),
			"disable-bootstrap"},
		{"secrets of an earlier cluster", half(func(s *ops.State) { s.Kube.Leftovers = []string{"secret/db-ca"} }),
			"delete-leftovers"},
		{"members of a cluster whose record is lost", half(func(s *ops.State) {
			s.Kube.Leftovers = []string{"secret/db-ca",
				"statefulset/db-1"}
		}),
			"blocked Refused record-missing"},
		{"secrets of a stopped cluster whose record is lost", half(func(s *ops.State) {
			s.Kube.Leftovers = []string{"secret/db-ca"}
			AddMember(s, "db-2", true)
			s.Kube.Members[0].Volume.Token, s.Kube.Members[0].Workload = "old", observe.Workload{}
		}), "blocked Refused stale-volume"},
		{"a volume of an earlier life", half(func(s *ops.State) {
			AddMember(s, "db-2",
				true)
			s.Kube.Members[0].Volume.Token = "old"
		}), "blocked Refused stale-volume"},
		{"restore: load first", half(func(s *ops.State) {
			s.Cluster.Spec.RestoreFrom = &v1alpha1.RestoreSource{Backup: "b0"}
			s.Cluster.Status.Bootstrap.Members = []string{"db-1"}
		}), "load-backup/db-1"},
		{"restore: loaded", half(func(s *ops.State) {
			s.Cluster.Spec.RestoreFrom = &v1alpha1.RestoreSource{Backup: "b0"}
			s.Cluster.Status.Bootstrap.Members, s.Cluster.Status.Bootstrap.Loaded = []string{"db-1"}, true
			s.Kube.Members = []observe.Member{{Name: "db-1", Volume: observe.Volume{Exists: true, Token: "t"}}}
		}), "start-members/db-1"},
	})
}

func TestDecideIdentity(t *testing.T) {
	t.Parallel()
	ask(t, opstest.Stub{}, []question{
		{"foreign objects", func() ops.State { s := opstest.Well(3); s.Kube.Foreign = []string{"service/db"}; return s },
			"blocked Refused foreign-objects"},
		{"foreign objects, even to delete", func() ops.State {
			s := opstest.Doing(opstest.Well(3), opstest.Operation(v1alpha1.VerbDelete), false)
			s.Kube.Foreign = []string{"service/db"}
			return s
		}, "blocked Refused foreign-objects"},
		{"nobody knows how it was founded",
			func() ops.State { s := opstest.Well(3); s.Cluster.Status.Bootstrap = nil; return s },
			"blocked NeedsHuman record"},
		{"nobody knows how it was founded, and it goes", func() ops.State {
			s := opstest.Doing(opstest.Well(3), opstest.Operation(v1alpha1.VerbDelete), false)
			s.Cluster.Status.Bootstrap, s.Operation.Spec.Waive = nil, []string{"backup"}
			return s
		}, "stop-members"},
		{"nobody knows how it was founded, and it is to be restored in place", func() ops.State {
			s := opstest.Doing(opstest.Well(3), opstest.Operation(v1alpha1.VerbRestore), false)
			s.Cluster.Status.Bootstrap, s.Operation.Spec.InPlace = nil, true
			return s
		}, "blocked NeedsHuman record"},
		{"a split", func() ops.State { s := opstest.Well(3); s.View.ClusterIDs = []string{"id", "other"}; return s },
			"blocked NeedsHuman split"},
		{"another cluster's data",
			func() ops.State { s := opstest.Well(3); s.View.ClusterIDs = []string{"other"}; return s },
			"blocked NeedsHuman cluster-id"},
		{"a split can be deleted", func() ops.State {
			s := opstest.Doing(opstest.Well(3), opstest.Operation(v1alpha1.VerbDelete), false)
			s.View.ClusterIDs, s.Operation.Spec.Waive = []string{"id", "other"}, []string{"backup"}
			return s
		}, "stop-members"},
	})
}

func TestDecideBudget(t *testing.T) {
	t.Parallel()
	budget := func(want int32) func(ops.State) ops.State {
		return func(s ops.State) ops.State { s.Kube.Budget = &want; return s }
	}
	ask(t, opstest.Stub{}, []question{
		{"none yet", func() ops.State { s := opstest.Well(3); s.Kube.Budget = nil; return s }, "set-budget"},
		{"none for one", func() ops.State { return budget(1)(opstest.Well(1)) }, "set-budget"},
		{"too low", func() ops.State { return budget(1)(opstest.Well(3)) }, "set-budget"},
		{"raised before it grows", func() ops.State { s := opstest.Well(3); s.Cluster.Spec.Members = 5; return s },
			"set-budget"},
		{"not lowered before it shrinks", func() ops.State { s := opstest.Well(5); s.Cluster.Spec.Members = 3; return s },
			"deregister-member/db-5"},
		{"left alone without quorum",
			func() ops.State { s := opstest.Well(5); s.Cluster.Spec.Members = 1; opstest.NoQuorum(&s); return s },
			"wait/quorum"},
	})
}
