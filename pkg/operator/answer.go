package operator

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// What became of a request for a backup, in a word.
const (
	summaryPending   = "pending"
	summaryRunning   = "running"
	summaryTaken     = "taken"
	summaryVerified  = "verified"
	summaryStalled   = "stalled"
	summaryCancelled = "cancelled"
)

// answered reports whether nothing is left to do about an object.
func answered(b *v1alpha1.DatabaseBackup) bool { return b.Status.EndedAt != nil }

// answer is the next status of an object that asks for a backup.
type answer struct {
	namespace  string
	generation int64
	status     v1alpha1.DatabaseBackupStatus
}

func newAnswer(b *v1alpha1.DatabaseBackup) *answer {
	a := &answer{namespace: b.Namespace, generation: b.Generation, status: *b.Status.DeepCopy()}
	a.status.ObservedGeneration = b.Generation
	return a
}

// pending says what it waits for.
func (a *answer) pending(why string) {
	a.is(summaryPending, "Unknown NotTaken", "True Pending", "False NotStalled", "waits "+why)
}

// refused says why it is not taken, and what to do.
func (a *answer) refused(err error) {
	a.is(summaryStalled, "Unknown NotTaken", "False Refused", "True "+reasonOf(err), told(a.namespace, err))
}

// lost is the end where the operation was started and its record is gone: what
// became of it nobody knows, and it is not started again.
func (a *answer) lost(now time.Time) {
	at := metav1.NewTime(now).Rfc3339Copy()
	a.status.EndedAt = &at
	a.is(summaryCancelled, "False NotTaken", "False Settled", "True RecordGone",
		"the record of its operation is gone; 'kubectl dbop backup list' shows what there is; make another object for "+
			"another backup")
}

// tell reads the record of an operation.
func (a *answer) tell(op *v1alpha1.Operation) {
	st, facts := &a.status, op.Status.Facts
	st.Operation = op.Name
	missing, whole := " NotTaken", false
	if facts[v1alpha1.FactBackup] != "" {
		missing, whole = " NotEnded", !op.Spec.Verify
		if op.Spec.Verify {
			missing = " NotVerified"
		}
		st.Repository, st.Backup = op.Spec.Repository, op.Spec.Backup
		st.Bytes, _ = strconv.ParseInt(facts[v1alpha1.FactBytes], 10, 64)
		st.Contents = facts[v1alpha1.FactContents]
		st.TakenAt = whenDone(op, "backup/")
	}
	summary, reason := summaryTaken, "Taken"
	if facts[v1alpha1.FactVerified] != "" {
		summary, reason, whole = summaryVerified, "Verified", true
		st.VerifiedAt = whenDone(op, "verify-backup/")
	}
	switch phase := op.Status.Phase; {
	case phase == v1alpha1.PhaseSucceeded, whole && !op.Active(): // given up once all that was asked for was there
		st.EndedAt = ended(op)
		a.is(summary, "True "+reason, "False Settled", "False NotStalled", "backup "+st.Backup+" is in "+st.Repository)
	case !op.Active():
		st.EndedAt = ended(op)
		why := "its operation was given up"
		if reason := cmp.Or(op.Status.Message, lastError(op)); reason != "" {
			why += ": " + reason
		}
		a.is(summaryCancelled, "False"+missing, "False Settled", "True Cancelled", why+
			"; make another object for another backup")
	case phase == v1alpha1.PhasePaused:
		a.is(summaryStalled, "Unknown"+missing, "False Settled", "True Operation", "operation "+op.Name+" came to a halt: "+
			op.Status.Message+"; it is tried again for a while; to give it up delete this object")
	default:
		a.is(summaryRunning, "Unknown"+missing, "True Operation", "False NotStalled", "operation "+op.Name)
	}
}

// ended is when an operation ended; one that another superseded does not say.
func ended(op *v1alpha1.Operation) *metav1.Time {
	if op.Status.FinishedAt != nil {
		return op.Status.FinishedAt
	}
	return &op.Status.StartedAt
}

// lastError is what the last step of an operation that failed said.
func lastError(op *v1alpha1.Operation) string {
	for _, e := range slices.Backward(op.Status.Journal) {
		if e.Error != "" {
			return e.Error
		}
	}
	return ""
}

// whenDone is when the step that begins so was done last.
func whenDone(op *v1alpha1.Operation, step string) *metav1.Time {
	for _, e := range slices.Backward(op.Status.Journal) {
		if strings.HasPrefix(e.Step, step) && e.FinishedAt != nil && e.Error == "" {
			return e.FinishedAt
		}
	}
	return nil
}

// is sets summary and conditions, each as "STATUS REASON"; the message goes to
// the one that is true.
func (a *answer) is(summary, ready, reconciling, stalled, message string) {
	a.status.Summary = summary
	for _, row := range [][2]string{{conditionReady, ready}, {conditionReconciling, reconciling},
		{conditionStalled, stalled}} {
		status, reason, _ := strings.Cut(row[1], " ")
		c := metav1.Condition{Type: row[0], Status: metav1.ConditionStatus(status), Reason: reason,
			ObservedGeneration: a.generation}
		if c.Status == metav1.ConditionTrue {
			c.Message = said(a.namespace, message)
		}
		meta.SetStatusCondition(&a.status.Conditions, c)
	}
}

// message is what the condition says that is true.
func (a *answer) message() string {
	for _, c := range a.status.Conditions {
		if c.Status == metav1.ConditionTrue {
			return c.Message
		}
	}
	return ""
}
