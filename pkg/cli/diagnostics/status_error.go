package diagnostics

import (
	"cmp"
	"slices"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// lastError is the newest error that the records of a cluster tell.
type lastError struct {
	Time      time.Time     `json:"time"`
	Operation string        `json:"operation"`
	Verb      v1alpha1.Verb `json:"verb"`
	Message   string        `json:"message"`
}

// lastErrorOf finds it in records, newest first; nil if an operation succeeded
// since.
func lastErrorOf(records []v1alpha1.Operation) *lastError {
	for _, o := range records {
		if o.Status.Phase == v1alpha1.PhaseSucceeded {
			return nil
		}
		if o.Status.Phase == v1alpha1.PhaseFailed && o.Status.Message != "" {
			at := cmp.Or(o.Status.FinishedAt, &o.Status.StartedAt)
			return &lastError{Time: at.Time, Operation: o.Name, Verb: o.Spec.Verb, Message: o.Status.Message}
		}
		for _, entry := range slices.Backward(o.Status.Journal) {
			if entry.Error != "" {
				at := cmp.Or(entry.FinishedAt, &entry.StartedAt)
				return &lastError{Time: at.Time, Operation: o.Name, Verb: o.Spec.Verb, Message: entry.Error}
			}
		}
	}
	return nil
}
