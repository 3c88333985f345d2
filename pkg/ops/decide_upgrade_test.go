package ops

import (
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// upgrading is a cluster on 1.1.0 that is to become 1.2.0, backed up, with some members moved already.
func upgrading(members int, moved []string, change func(*State)) func() State {
	return func() State {
		op := operation(v1alpha1.VerbUpgrade)
		op.Spec.Version, op.Spec.FromVersion = "1.2.0", "1.1.0"
		op.Status.Facts = map[string]string{v1alpha1.FactBackup: "b1", v1alpha1.FactVerified: "b1"}
		s := well(members).doing(op, false)
		s.Cluster.Spec.Version = "1.2.0"
		for _, m := range moved {
			s.runs(m, "1.2.0")
			op.Status.Journal = append(op.Status.Journal, v1alpha1.JournalEntry{Step: "upgrade-member/" + m})
		}
		change(&s)
		return s
	}
}

func cancelling(s *State) {
	s.Operation.Status.Phase, s.Cluster.Spec.Version = v1alpha1.PhaseCancelling, "1.1.0"
}

func TestDecideUpgrade(t *testing.T) {
	t.Parallel()
	same := func(*State) {}
	ask(t, stub{}, []question{
		{"backup first, of the leader", upgrading(3, nil, func(s *State) { s.Operation.Status.Facts = nil }), "backup/b1"},
		{"verified second", upgrading(3, nil, func(s *State) { delete(s.Operation.Status.Facts, v1alpha1.FactVerified) }), "verify-backup/b1"},
		{"backup waived", upgrading(3, nil, func(s *State) { s.Operation.Status.Facts, s.Operation.Spec.Waive = nil, []string{"backup"} }), "upgrade-member/db-2"},
		{"a follower first", upgrading(3, nil, same), "upgrade-member/db-2"},
		{"then the other", upgrading(3, []string{"db-2"}, same), "upgrade-member/db-3"},
		{"then leadership", upgrading(3, []string{"db-2", "db-3"}, same), "hand-over/db-2"},
		{"never to one that is outdated", upgrading(3, []string{"db-3"}, func(s *State) { s.lead("db-2"); s.runs("db-1", "1.2.0") }), "hand-over/db-1"},
		{"the leader last", upgrading(3, []string{"db-2", "db-3"}, func(s *State) { s.lead("db-3") }), "upgrade-member/db-1"},
		{"one that does not take part goes first", upgrading(3, nil, func(s *State) {
			s.runs("db-2", "1.2.0")
			s.Operation.Status.Journal = []v1alpha1.JournalEntry{{Step: "upgrade-member/db-2"}}
			s.down("db-3", "", 0)
		}), "upgrade-member/db-3"},
		{"paused on red", upgrading(3, []string{"db-2"}, func(s *State) { s.down("db-2", "", 0) }), "wait/healthy"},
		{"paused on red, named after patience", upgrading(3, []string{"db-2"}, func(s *State) { s.down("db-2", kube.ProblemCrashing, time.Minute) }), "blocked NeedsHuman CrashLooping"},
		{"a restart not seen yet", upgrading(3, []string{"db-2"}, func(s *State) { s.Kube.Members[1].Pod.Version = "1.1.0" }), "upgrade-member/db-2"},
		{"waits for the cluster to speak it", upgrading(3, []string{"db-1", "db-2", "db-3"}, same), "wait/upgraded"},
		{"refused before anything is done", upgrading(3, nil, func(s *State) { s.Operation.Status.Journal = nil; s.down("db-3", "", 0) }), "blocked Refused members-healthy"},
		{"one joined with it: the checks and the backup are still due", upgrading(3, []string{"db-3"}, func(s *State) {
			s.Operation.Status.Journal, s.Operation.Status.Facts = nil, nil
		}), "backup/b1"},
		{"never under another verb", upgrading(3, nil, func(s *State) { s.Operation.Spec.Verb = v1alpha1.VerbScale }), "done"},
		{"too far", upgrading(3, nil, func(s *State) { s.Operation.Status.Journal, s.Cluster.Spec.Version = nil, "9.9.9" }), "blocked Refused skipped-minor"},
		{"one member", upgrading(1, nil, same), "blocked Refused downtime"},
		{"two members", upgrading(2, nil, same), "blocked Refused downtime"},
		{"one member, accepted", upgrading(1, nil, func(s *State) { s.Operation.Spec.Waive = []string{"downtime"} }), "upgrade-member/db-1"},
		{"no source for the backup", upgrading(3, nil, func(s *State) { s.Operation.Status.Facts = nil; s.noQuorum() }), "wait/quorum"},
		{"a member that can't start takes the quorum along", upgrading(3, []string{"db-2"}, func(s *State) {
			s.down("db-1", "", 0)
			s.down("db-3", kube.ProblemCrashing, time.Minute)
			s.noQuorum()
			s.Operation.Status.Journal = []v1alpha1.JournalEntry{{Step: "upgrade-member/db-2"}}
		}), "upgrade-member/db-3"},
		{"no mending before restarts began", upgrading(3, nil, func(s *State) {
			s.down("db-1", "", 0)
			s.down("db-3", kube.ProblemCrashing, time.Second)
			s.noQuorum()
		}), "wait/quorum"},
	})
	ask(t, stub{preparation: "old entries"}, []question{
		{"prepared after the backup", upgrading(3, nil, same), "prepare-upgrade"},
	})
}

func TestDecideRollback(t *testing.T) {
	t.Parallel()
	ask(t, stub{}, []question{
		{"nothing was moved", upgrading(3, nil, cancelling), "done"},
		{"puts the moved one back", upgrading(3, []string{"db-2"}, cancelling), "upgrade-member/db-2"},
		{"the crashing one first", upgrading(3, []string{"db-1", "db-2"}, func(s *State) { cancelling(s); s.down("db-2", kube.ProblemCrashing, time.Minute) }), "upgrade-member/db-2"},
		{"the cluster speaks the new version", upgrading(3, []string{"db-2"}, func(s *State) {
			cancelling(s)
			s.View.Members[2].Protocol = "1.2"
		}), "blocked Refused rollback"},
		{"every member was moved, and the rest may follow at any moment", upgrading(3, []string{"db-1", "db-2", "db-3"}, cancelling), "blocked Refused rollback"},
		{"an image that can't be pulled took the quorum along", upgrading(2, []string{"db-2"}, func(s *State) {
			cancelling(s)
			s.down("db-2", kube.ProblemImage, time.Minute)
			s.noQuorum()
		}), "upgrade-member/db-2"},
		{"no quorum, and nobody was left behind", upgrading(2, []string{"db-1", "db-2"}, func(s *State) {
			cancelling(s)
			s.down("db-2", kube.ProblemImage, time.Minute)
			s.noQuorum()
		}), "blocked NeedsHuman ImagePull"},
	})
}
