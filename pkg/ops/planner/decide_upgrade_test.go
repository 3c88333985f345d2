package planner

import (
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

func TestDecideUpgrade(t *testing.T) {
	t.Parallel()
	same := func(*ops.State) {}
	ask(t, opstest.Stub{}, []question{
		{"backup first, of the leader", opstest.Upgrading(3, nil, func(s *ops.State) { s.Operation.Status.Facts = nil }),
			"backup/b1"},
		{"verified second", opstest.Upgrading(3, nil, func(s *ops.State) {
			delete(s.Operation.Status.Facts,
				v1alpha1.FactVerified)
		}), "verify-backup/b1"},
		{"backup waived", opstest.Upgrading(3, nil, func(s *ops.State) {
			s.Operation.Status.Facts,
				s.Operation.Spec.Waive = nil, []string{"backup"}
		}), "upgrade-member/db-2"},
		{"a follower first", opstest.Upgrading(3, nil, same), "upgrade-member/db-2"},
		{"then the other", opstest.Upgrading(3, []string{"db-2"}, same), "upgrade-member/db-3"},
		{"then leadership", opstest.Upgrading(3, []string{"db-2", "db-3"}, same), "hand-over/db-2"},
		{"never to one that is outdated", opstest.Upgrading(3, []string{"db-3"},
			func(s *ops.State) { s.Lead("db-2"); opstest.Runs(s, "db-1", "1.2.0") }), "hand-over/db-1"},
		{"the leader last", opstest.Upgrading(3, []string{"db-2", "db-3"}, func(s *ops.State) { s.Lead("db-3") }),
			"upgrade-member/db-1"},
		{"one that does not take part goes first", opstest.Upgrading(3, nil, func(s *ops.State) {
			opstest.Runs(s, "db-2", "1.2.0")
			s.Operation.Status.Journal = []v1alpha1.JournalEntry{{Step: "upgrade-member/db-2"}}
			opstest.Down(s, "db-3", "", 0)
		}), "upgrade-member/db-3"},
		{"paused on red", opstest.Upgrading(3, []string{"db-2"}, func(s *ops.State) { opstest.Down(s, "db-2", "", 0) }),
			"wait/healthy"},
		{"paused on red, named after patience", opstest.Upgrading(3, []string{"db-2"},
			func(s *ops.State) {
				opstest.Down(s, "db-2", observe.ProblemCrashing,
					time.Minute)
			}), "blocked NeedsHuman CrashLooping"},
		{"a restart not seen yet", opstest.Upgrading(3, []string{"db-2"},
			func(s *ops.State) { s.Kube.Members[1].Pod.Version = "1.1.0" }), "upgrade-member/db-2"},
		{"waits for the cluster to speak it", opstest.Upgrading(3, []string{"db-1", "db-2", "db-3"}, same),
			"wait/upgraded"},
		{"refused before anything is done", opstest.Upgrading(3, nil,
			func(s *ops.State) {
				s.Operation.Status.Journal = nil
				opstest.Down(s, "db-3", "",
					0)
			}), "blocked Refused members-healthy"},
		{"one joined with it: the checks and the backup are still due",
			opstest.Upgrading(3, []string{"db-3"}, func(s *ops.State) {
				s.Operation.Status.Journal, s.Operation.Status.Facts = nil, nil
			}), "backup/b1"},
		{"never under another verb", opstest.Upgrading(3, nil,
			func(s *ops.State) { s.Operation.Spec.Verb = v1alpha1.VerbScale }), "done"},
		{"too far", opstest.Upgrading(3, nil, func(s *ops.State) {
			s.Operation.Status.Journal, s.Cluster.Spec.Version = nil,
				"9.9.9"
		}), "blocked Refused skipped-minor"},
		{"one member", opstest.Upgrading(1, nil, same), "blocked Refused downtime"},
		{"two members", opstest.Upgrading(2, nil, same), "blocked Refused downtime"},
		{"one member, accepted", opstest.Upgrading(1, nil,
			func(s *ops.State) { s.Operation.Spec.Waive = []string{"downtime"} }), "upgrade-member/db-1"},
		{"no source for the backup", opstest.Upgrading(3, nil,
			func(s *ops.State) { s.Operation.Status.Facts = nil; opstest.NoQuorum(s) }), "wait/quorum"},
		{"a member that can't start takes the quorum along", opstest.Upgrading(3, []string{"db-2"}, func(s *ops.State) {
			opstest.Down(s, "db-1", "", 0)
			opstest.Down(s, "db-3", observe.ProblemCrashing, time.Minute)
			opstest.NoQuorum(s)
			s.Operation.Status.Journal = []v1alpha1.JournalEntry{{Step: "upgrade-member/db-2"}}
		}), "upgrade-member/db-3"},
		{"no mending before restarts began", opstest.Upgrading(3, nil, func(s *ops.State) {
			opstest.Down(s, "db-1", "", 0)
			opstest.Down(s, "db-3", observe.ProblemCrashing, time.Second)
			opstest.NoQuorum(s)
		}), "wait/quorum"},
	})
	ask(t, opstest.Stub{Prepares: "old entries"}, []question{
		{"prepared after the backup", opstest.Upgrading(3, nil, same), "prepare-upgrade"},
	})
}

func TestDecideRollback(t *testing.T) {
	t.Parallel()
	ask(t, opstest.Stub{}, []question{
		{"nothing was moved", opstest.Upgrading(3, nil, opstest.Cancelling), "done"},
		{"puts the moved one back", opstest.Upgrading(3, []string{"db-2"}, opstest.Cancelling), "upgrade-member/db-2"},
		{"the crashing one first", opstest.Upgrading(3, []string{"db-1", "db-2"}, func(s *ops.State) {
			opstest.Cancelling(s)
			opstest.Down(s, "db-2", observe.ProblemCrashing, time.Minute)
		}), "upgrade-member/db-2"},
		{"the cluster speaks the new version", opstest.Upgrading(3, []string{"db-2"}, func(s *ops.State) {
			opstest.Cancelling(s)
			s.View.Members[2].Protocol = "1.2"
		}), "blocked Refused rollback"},
		{"every member was moved, and the rest may follow at any moment",
			opstest.Upgrading(3, []string{"db-1", "db-2", "db-3"}, opstest.Cancelling), "blocked Refused rollback"},
		{"an image that can't be pulled took the quorum along", opstest.Upgrading(2, []string{"db-2"}, func(s *ops.State) {
			opstest.Cancelling(s)
			opstest.Down(s, "db-2", observe.ProblemImage, time.Minute)
			opstest.NoQuorum(s)
		}), "upgrade-member/db-2"},
		{"no quorum, and nobody was left behind", opstest.Upgrading(2, []string{"db-1", "db-2"}, func(s *ops.State) {
			opstest.Cancelling(s)
			opstest.Down(s, "db-2", observe.ProblemImage, time.Minute)
			opstest.NoQuorum(s)
		}), "blocked NeedsHuman ImagePull"},
	})
}
