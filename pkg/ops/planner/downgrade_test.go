package planner

import (
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// downgrading is a cluster on 1.1.0 that is to become 1.0.0, backed up,
// announced and lowered, with some members moved already.
func downgrading(members int, moved []string, change func(*ops.State)) func() ops.State {
	return func() ops.State {
		op := opstest.Operation(v1alpha1.VerbDowngrade)
		op.Spec.Version, op.Spec.FromVersion = "1.0.0", "1.1.0"
		op.Status.Facts = map[string]string{v1alpha1.FactBackup: "b1", v1alpha1.FactVerified: "b1"}
		s := opstest.Doing(opstest.Well(members), op, false)
		s.Cluster.Spec.Version, s.View.Downgrade = "1.0.0", "1.0.0"
		opstest.Speaks(&s, "1.0", "1.0")
		for _, m := range moved {
			opstest.Runs(&s, m, "1.0.0")
			op.Status.Journal = append(op.Status.Journal, v1alpha1.JournalEntry{Step: "downgrade-member/" + m})
		}
		change(&s)
		return s
	}
}

func TestDecideDowngrade(t *testing.T) {
	t.Parallel()
	same := func(*ops.State) {}
	before := func(s *ops.State) { s.View.Downgrade = ""; opstest.Speaks(s, "1.1", "1.1") }
	all := []string{"db-1", "db-2", "db-3"}
	ask(t, opstest.Stub{}, []question{
		{"backup first", downgrading(3, nil, func(s *ops.State) { before(s); s.Operation.Status.Facts = nil }),
			"backup/b1"},
		{"verified second", downgrading(3, nil, func(s *ops.State) {
			before(s)
			delete(s.Operation.Status.Facts,
				v1alpha1.FactVerified)
		}), "verify-backup/b1"},
		{"backup waived", downgrading(3, nil, func(s *ops.State) {
			before(s)
			s.Operation.Status.Facts, s.Operation.Spec.Waive = nil, []string{"backup"}
		}), "announce-downgrade"},
		{"then announced", downgrading(3, nil, before), "announce-downgrade"},
		{"again, if somebody took it back before anybody moved, once that is over",
			downgrading(3, nil, func(s *ops.State) { s.View.Downgrade = "" }), "wait/may-downgrade"},
		{"waits for the protocol", downgrading(3, nil, func(s *ops.State) { opstest.Speaks(s, "1.1", "1.1") }),
			"wait/lowered"},
		{"waits for the data of the last", downgrading(3, nil, func(s *ops.State) { s.View.Members[2].Schema = "1.1" }),
			"wait/lowered"},
		{"a follower first", downgrading(3, nil, same), "downgrade-member/db-2"},
		{"then the other", downgrading(3, []string{"db-2"}, same), "downgrade-member/db-3"},
		{"the other, though the announcement ended early", downgrading(3, []string{"db-2"},
			func(s *ops.State) { s.View.Downgrade = "" }), "downgrade-member/db-3"},
		{"not the other, if it speaks the newer version again",
			downgrading(3, []string{"db-2"}, func(s *ops.State) { s.View.Members[2].Protocol = "1.1" }), "wait/lowered"},
		{"one ran it before: the backup is still due", downgrading(3, []string{"db-2"},
			func(s *ops.State) { s.Operation.Status.Facts = nil }), "backup/b1"},
		{"cancelled, all came up again, and resumed", downgrading(3, nil, func(s *ops.State) {
			before(s)
			s.Operation.Status.Journal = []v1alpha1.JournalEntry{{Step: "downgrade-member/db-2"},
				{Step: "withdraw-downgrade"},
				{Step: "upgrade-member/db-2"}}
		}), "announce-downgrade"},
		{"cancelled before the moved one came up, and resumed", downgrading(3, []string{"db-2"}, func(s *ops.State) {
			s.View.Downgrade = ""
			s.Operation.Status.Journal = append(s.Operation.Status.Journal, v1alpha1.JournalEntry{Step: "withdraw-downgrade"})
		}), "downgrade-member/db-3"},
		{"cancelled before the moved one came up, its template newer already, and resumed",
			downgrading(3, []string{"db-2"}, func(s *ops.State) {
				s.View.Downgrade = ""
				s.Kube.Members[1].Workload.Version = "1.1.0"
				s.Operation.Status.Journal = append(s.Operation.Status.Journal,
					v1alpha1.JournalEntry{Step: "withdraw-downgrade"},
					v1alpha1.JournalEntry{Step: "upgrade-member/db-2"})
			}), "downgrade-member/db-2"},
		{"then leadership", downgrading(3, []string{"db-2", "db-3"}, same), "hand-over/db-2"},
		{"the leader last", downgrading(3, []string{"db-2", "db-3"}, func(s *ops.State) { s.Lead("db-3") }),
			"downgrade-member/db-1"},
		{"paused on red", downgrading(3, []string{"db-2"}, func(s *ops.State) { opstest.Down(s, "db-2", "", 0) }),
			"wait/healthy"},
		{"paused on red, named after patience", downgrading(3, []string{"db-2"},
			func(s *ops.State) {
				opstest.Down(s, "db-2", observe.ProblemCrashing,
					time.Minute)
			}), "blocked NeedsHuman CrashLooping"},
		{"waits until it is called off", downgrading(3, all, same), "wait/versions-agree"},
		{"waits for the protocol in the end", downgrading(3, all,
			func(s *ops.State) { s.View.Downgrade = ""; opstest.Speaks(s, "1.1", "") }), "wait/versions-agree"},
		{"done", downgrading(3, all, func(s *ops.State) { s.View.Downgrade = "" }), "done"},
		{"refused before anything is done", downgrading(3, nil,
			func(s *ops.State) {
				before(s)
				s.Operation.Status.Journal = nil
				opstest.Down(s, "db-3", "",
					0)
			}), "blocked Refused members-healthy"},
		{"too far", downgrading(3, nil, func(s *ops.State) {
			before(s)
			s.Operation.Status.Journal, s.Cluster.Spec.Version = nil, "0.9.0"
		}), "blocked Refused skipped-minor"},
		{"the last step up is not over: waited out", downgrading(3, nil, func(s *ops.State) {
			before(s)
			s.Operation.Status.Journal = nil
			s.View.Members[2].Schema = "1.0"
		}), "wait/may-downgrade"},
		{"one member", downgrading(1, nil, before), "blocked Refused downtime"},
		{"one member, accepted", downgrading(1, nil,
			func(s *ops.State) { before(s); s.Operation.Spec.Waive = []string{"downtime"} }), "announce-downgrade"},
		{"never under another verb", downgrading(3, nil, func(s *ops.State) { s.Operation.Spec.Verb = v1alpha1.VerbScale }),
			"done"},
		{"no quorum, and one that can't start as it is", downgrading(3, []string{"db-2"}, func(s *ops.State) {
			opstest.Down(s, "db-1", "", 0)
			opstest.Down(s, "db-3", observe.ProblemCrashing, time.Minute)
			opstest.NoQuorum(s)
		}), "downgrade-member/db-3"},
		{"no quorum, and nobody is down there any more", downgrading(3, nil, func(s *ops.State) {
			s.Operation.Status.Journal = []v1alpha1.JournalEntry{{Step: "downgrade-member/db-2"},
				{Step: "upgrade-member/db-2"}}
			opstest.Down(s, "db-1", "", 0)
			opstest.Down(s, "db-3", observe.ProblemCrashing, time.Minute)
			opstest.NoQuorum(s)
		}), "blocked NeedsHuman CrashLooping"},
		{"no quorum before anybody moved", downgrading(3, nil, func(s *ops.State) {
			opstest.Down(s, "db-1", "", 0)
			opstest.Down(s, "db-3", observe.ProblemCrashing, time.Second)
			opstest.NoQuorum(s)
		}), "wait/quorum"},
	})
}

func TestDecideDowngradeCancelled(t *testing.T) {
	t.Parallel()
	back := func(s *ops.State) { s.View.Downgrade = ""; opstest.Cancelling(s) }
	all := []string{"db-1", "db-2", "db-3"}
	ask(t, opstest.Stub{}, []question{
		{"takes it back first", downgrading(3, nil, opstest.Cancelling), "withdraw-downgrade"},
		{"also when some have moved", downgrading(3, []string{"db-2"}, opstest.Cancelling), "withdraw-downgrade"},
		{"waits until protocol and data are back", downgrading(3, nil, back), "wait/versions-agree"},
		{"brings the moved one up", downgrading(3, []string{"db-2"}, back), "upgrade-member/db-2"},
		{"the crashing one first", downgrading(3, []string{"db-2", "db-3"},
			func(s *ops.State) {
				back(s)
				opstest.Down(s, "db-3", observe.ProblemCrashing,
					time.Minute)
			}), "upgrade-member/db-3"},
		{"the leader last", downgrading(3, []string{"db-1"}, back), "hand-over/db-2"},
		{"all have moved", downgrading(3, all, back), "upgrade-member/db-2"},
		{"nothing was announced", downgrading(3, nil, func(s *ops.State) { back(s); opstest.Speaks(s, "1.1", "1.1") }),
			"done"},
		{"an image that can't be pulled took the quorum along", downgrading(2, []string{"db-2"}, func(s *ops.State) {
			opstest.Cancelling(s)
			opstest.Down(s, "db-2", observe.ProblemImage, time.Minute)
			opstest.NoQuorum(s)
		}), "upgrade-member/db-2"},
	})
}
