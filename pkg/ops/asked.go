package ops

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// Asked is the very operation that 'kubectl dbop backup' asks for, asked for
// by an object.
func Asked(b v1alpha1.DatabaseBackup, c *v1alpha1.DatabaseCluster) *Request {
	o := v1alpha1.OperationSpec{Cluster: c.Name, Verb: v1alpha1.VerbBackup, RequestedBy: "operator: databasebackup " + b.Name,
		Repository: b.Spec.Repository, Verify: b.Spec.Verify, Object: string(b.UID)}
	if o.Repository == "" {
		o.Repository = c.Spec.Backup.Repository
	}
	return &Request{Operation: o}
}

// checkAsked judges what an object asks for: an operator has no directory.
func checkAsked(o v1alpha1.OperationSpec) error {
	if o.Object == "" {
		return nil
	}
	spec := v1alpha1.DatabaseClusterSpec{Backup: v1alpha1.BackupPolicy{Repository: o.Repository}}
	err := keep(&v1alpha1.OperationSpec{Cluster: o.Cluster, Verb: o.Verb}, spec)
	if r, ok := errors.AsType[*engine.Refusal](err); ok && o.Repository == "" {
		r.Reason = fmt.Sprintf("neither this object nor cluster %s names a repository", o.Cluster)
		r.Hint = `make an object with spec.repository "pvc:CLAIM", or set spec.backup.repository of the cluster`
	}
	return err
}

// Answered reports whether nothing is left to do about an object.
func Answered(b *v1alpha1.DatabaseBackup) bool { return b.Status.EndedAt != nil }

// Answer says what became of what an object asked for: op is the operation
// that takes it, nil before there is one; refused is why there is none.
func Answer(b *v1alpha1.DatabaseBackup, op *v1alpha1.Operation, refused error) v1alpha1.DatabaseBackupStatus {
	a := answer{generation: b.Generation, status: *b.Status.DeepCopy()}
	a.status.ObservedGeneration = b.Generation
	switch {
	case op != nil:
		a.tell(op)
	case refused != nil:
		e := asError(refused)
		text := e.Error()
		if e.Hint != "" {
			text += "; " + e.Hint
		}
		a.is("stalled", "Unknown NotTaken", "False Refused", "True Refused", text)
	default:
		a.is("pending", "Unknown NotTaken", "True Pending", "False NotStalled", "it waits its turn")
	}
	return a.status
}

type answer struct {
	generation int64
	status     v1alpha1.DatabaseBackupStatus
}

// tell reads the record of an operation.
func (a *answer) tell(op *v1alpha1.Operation) {
	st, facts := &a.status, op.Status.Facts
	st.Operation = op.Name
	if facts[v1alpha1.FactBackup] != "" {
		st.Repository, st.Backup = op.Spec.Repository, op.Spec.Backup
		st.Bytes, _ = strconv.ParseInt(facts[v1alpha1.FactBytes], 10, 64)
		st.Revision, _ = strconv.ParseInt(facts[v1alpha1.FactRevision], 10, 64)
		st.TakenAt = ended(op, "backup/")
	}
	if facts[v1alpha1.FactVerified] != "" {
		st.VerifiedAt = ended(op, "verify-backup/")
	}
	switch op.Status.Phase {
	case v1alpha1.PhaseSucceeded:
		st.EndedAt = op.Status.FinishedAt
		summary := "taken"
		if st.VerifiedAt != nil {
			summary = "verified"
		}
		a.is(summary, "True Taken", "False Settled", "False NotStalled", "it is in "+st.Repository)
	case v1alpha1.PhaseCancelled, v1alpha1.PhaseFailed:
		st.EndedAt = op.Status.FinishedAt
		if st.EndedAt == nil {
			st.EndedAt = &op.Status.StartedAt
		}
		a.is("cancelled", "False NotTaken", "False Settled", "True Cancelled", "its operation was given up; make another object")
	case v1alpha1.PhasePaused:
		a.is("stalled", "Unknown NotTaken", "False Settled", "True Operation", op.Status.Message)
	default:
		a.is("running", "Unknown NotTaken", "True Operation", "False NotStalled", "operation "+op.Name)
	}
}

// ended is when the step that begins so was done last.
func ended(op *v1alpha1.Operation, step string) *metav1.Time {
	for i := len(op.Status.Journal) - 1; i >= 0; i-- {
		if e := op.Status.Journal[i]; strings.HasPrefix(e.Step, step) && e.FinishedAt != nil && e.Error == "" {
			return e.FinishedAt
		}
	}
	return nil
}

// is sets summary and conditions, each as "STATUS REASON"; the message goes to
// the one that it explains.
func (a *answer) is(summary, ready, reconciling, stalled, message string) {
	a.status.Summary = summary
	for _, row := range [][2]string{{"Ready", ready}, {"Reconciling", reconciling}, {"Stalled", stalled}} {
		status, reason, _ := strings.Cut(row[1], " ")
		c := metav1.Condition{Type: row[0], Status: metav1.ConditionStatus(status), Reason: reason, ObservedGeneration: a.generation}
		if status == string(metav1.ConditionTrue) {
			c.Message = message[:min(len(message), 1024)]
		}
		meta.SetStatusCondition(&a.status.Conditions, c)
	}
}

// asError is an error as people are told of it.
func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*engine.Refusal](err); ok {
		return refused(e)
	}
	return &Error{Kind: Failed, Message: err.Error()}
}
