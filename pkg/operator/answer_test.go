package operator

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func at(minute int) *metav1.Time {
	t := metav1.NewTime(time.Date(2030, 1, 2, 3, minute, 0, 0, time.UTC))
	return &t
}

// inWords is the summary of an answer, and its conditions.
func inWords(st v1alpha1.DatabaseBackupStatus) string {
	out := []string{st.Summary}
	for _, c := range st.Conditions {
		out = append(out, string(c.Status)+" "+c.Reason)
	}
	return strings.Join(out, ", ")
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	done := func(steps ...string) (out []v1alpha1.JournalEntry) {
		for i, s := range steps {
			out = append(out, v1alpha1.JournalEntry{Step: s, StartedAt: *at(i), FinishedAt: at(i + 1)})
		}
		return out
	}
	op := func(phase v1alpha1.Phase, verify bool, facts ...string) *v1alpha1.Operation {
		o := &v1alpha1.Operation{Spec: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbBackup, Repository: "pvc:b",
			Backup: "db-1", BackupParameters: v1alpha1.BackupParameters{Verify: verify}},
			Status: v1alpha1.OperationStatus{Phase: phase, StartedAt: *at(0), Facts: map[string]string{}}}
		o.Name = "db.dbop-op-1"
		for _, f := range facts {
			o.Status.Facts[f] = "db-1"
			step := map[string]string{v1alpha1.FactBackup: "backup/db-1", v1alpha1.FactVerified: "verify-backup/db-1"}[f]
			o.Status.Journal = append(o.Status.Journal, done(step)...)
			if f == v1alpha1.FactBackup {
				o.Status.Facts[v1alpha1.FactBytes], o.Status.Facts[v1alpha1.FactContents] = "4096", "revision 77"
			}
		}
		return o
	}
	told := func(o *v1alpha1.Operation, change ...func(*v1alpha1.Operation)) func(*answer) {
		for _, c := range change {
			c(o)
		}
		return func(a *answer) { a.tell(o) }
	}
	const b, v = v1alpha1.FactBackup, v1alpha1.FactVerified
	for _, row := range []struct {
		name string
		tell func(*answer)
		want string
		// says is in the message of the one condition that is true; ended is
		// the minute, -1 for not yet.
		says  string
		ended int
		whole bool
	}{
		{"nothing was started", func(a *answer) { a.pending("for the cluster") },
			"pending, Unknown NotTaken, True Pending, False NotStalled", "waits for the cluster", -1, false},
		{"turned down", func(a *answer) {
			a.refused(&engine.Refusal{Check: "no-claim", Reason: "no claim",
				Hint: "make one"})
		},
			"stalled, Unknown NotTaken, False Refused, True NoClaim", "no claim; make one", -1, false},
		{"turned down for no known reason", func(a *answer) { a.refused(errors.New("what now")) },
			"stalled, Unknown NotTaken, False Refused, True Failed", "what now", -1, false},
		{"the record is gone", func(a *answer) { a.lost(at(9).Time) },
			"cancelled, False NotTaken, False Settled, True RecordGone", "backup list", 9, false},
		{"under way", told(op(v1alpha1.PhaseRunning, true)), "running, Unknown NotTaken, True Operation, False NotStalled",
			"operation db.dbop-op-1", -1, false},
		{"taken, and being verified", told(op(v1alpha1.PhaseRunning, true, b)),
			"running, Unknown NotVerified, True Operation, False NotStalled", "operation db.dbop-op-1", -1, true},
		{"taken, and being closed", told(op(v1alpha1.PhaseRunning, false, b)),
			"running, Unknown NotEnded, True Operation, False NotStalled", "operation db.dbop-op-1", -1, true},
		{"being given up", told(op(v1alpha1.PhaseCancelling, false)),
			"running, Unknown NotTaken, True Operation, False NotStalled", "", -1, false},
		{"taken", told(op(v1alpha1.PhaseSucceeded, false, b), func(o *v1alpha1.Operation) { o.Status.FinishedAt = at(5) }),
			"taken, True Taken, False Settled, False NotStalled", "backup db-1 is in pvc:b", 5, true},
		{"verified", told(op(v1alpha1.PhaseSucceeded, true, b, v),
			func(o *v1alpha1.Operation) { o.Status.FinishedAt = at(5) }),
			"verified, True Verified, False Settled, False NotStalled", "backup db-1 is in pvc:b", 5, true},
		{"came to a halt", told(op(v1alpha1.PhasePaused, false),
			func(o *v1alpha1.Operation) { o.Status.Message = "the disk is full" }),
			"stalled, Unknown NotTaken, False Settled, True Operation", "the disk is full", -1, false},
		{"given up", told(op(v1alpha1.PhaseCancelled, false), func(o *v1alpha1.Operation) { o.Status.FinishedAt = at(5) }),
			"cancelled, False NotTaken, False Settled, True Cancelled", "make another object", 5, false},
		{"superseded", told(op(v1alpha1.PhaseCancelled, false),
			func(o *v1alpha1.Operation) { o.Status.Message = "superseded by delete" }),
			"cancelled, False NotTaken, False Settled, True Cancelled", "superseded by delete; make", 0, false},
		{"given up before it was verified", told(op(v1alpha1.PhaseCancelled, true, b)),
			"cancelled, False NotVerified, False Settled, True Cancelled", "", 0, true},
		{"given up once it was whole", told(op(v1alpha1.PhaseCancelled, false, b)),
			"taken, True Taken, False Settled, False NotStalled", "", 0, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			o := &v1alpha1.DatabaseBackup{}
			o.Generation = 3
			a := newAnswer(o)
			row.tell(a)
			got := inWords(a.status)
			for _, c := range a.status.Conditions {
				if c.ObservedGeneration != 3 {
					t.Errorf("%+v", c)
				}
			}
			if got != row.want || !strings.Contains(a.message(), row.says) || a.status.ObservedGeneration != 3 {
				t.Errorf("%q, want %q; it says %q", got, row.want, a.message())
			}
			if end := a.status.EndedAt; (end == nil) != (row.ended < 0) || end != nil && !end.Equal(at(row.ended)) {
				t.Errorf("ended %v", end)
			}
			st := a.status
			if row.whole != (st.Backup == "db-1" && st.Repository == "pvc:b" && st.Bytes == 4096 &&
				st.Contents == "revision 77" && st.TakenAt.Equal(at(1))) {
				t.Errorf("%+v", st)
			}
			// What is told again changes nothing.
			o.Status = *st.DeepCopy()
			again := newAnswer(o)
			row.tell(again)
			if !equality.Semantic.DeepEqual(again.status, o.Status) {
				t.Errorf("%+v\n%+v", again.status, o.Status)
			}
		})
	}
}

// TestWhenDone: a try that failed does not count, and one that is in the works neither.
func TestWhenDone(t *testing.T) {
	t.Parallel()
	o := &v1alpha1.Operation{Status: v1alpha1.OperationStatus{Journal: []v1alpha1.JournalEntry{
		{Step: "backup/db-1", FinishedAt: at(1)}, {Step: "backup/db-1", FinishedAt: at(2), Error: "no"},
		{Step: "backup/db-1"}}}}
	if got := whenDone(o, "backup/"); !got.Equal(at(1)) {
		t.Errorf("%v", got)
	}
	if got := whenDone(o, "verify-backup/"); got != nil {
		t.Errorf("%v", got)
	}
}

// TestAnswersArePrintable: what a record quotes reaches no condition as it is.
func TestAnswersArePrintable(t *testing.T) {
	t.Parallel()
	for _, phase := range []v1alpha1.Phase{v1alpha1.PhasePaused, v1alpha1.PhaseFailed} {
		a := newAnswer(&v1alpha1.DatabaseBackup{})
		a.tell(&v1alpha1.Operation{Status: v1alpha1.OperationStatus{Phase: phase, Message: "disk \x1b[2J\r says no"}})
		if m := a.message(); !strings.Contains(m, "disk ?[2J? says no") || strings.ContainsAny(m, "\x1b\r") {
			t.Errorf("%s: %q", phase, m)
		}
	}
	a := newAnswer(&v1alpha1.DatabaseBackup{})
	a.refused(errors.New("claim \x1b[2J"))
	if m := a.message(); strings.Contains(m, "\x1b") || m == "" {
		t.Errorf("refused: %q", m)
	}
}
