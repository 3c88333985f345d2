package ops

import (
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// incarnationRecorded reports whether the operation may have ended an epoch.
func incarnationRecorded(op *v1alpha1.Operation) bool {
	return slices.ContainsFunc(op.Status.Journal, func(j v1alpha1.JournalEntry) bool { return j.Step == StepIncarnation })
}

// OrUnknown is the text, or <unknown> for none.
func OrUnknown(s string) string {
	if s == "" {
		return "<unknown>"
	}
	return s
}

// OperatorPrefix is what RequestedBy begins with where an operator asks by itself.
const OperatorPrefix = "operator: "

// Untouched reports whether an operation has changed neither the cluster nor
// its data: no step was started but the backup, and no backup was finished.
// Journal entries are written before their step begins. What such an operation
// leaves is a record and the wanted values in the cluster's record.
func Untouched(op *v1alpha1.Operation) bool {
	for _, e := range op.Status.Journal {
		if op.Spec.Backup == "" || e.Step != BackupStepPrefix+op.Spec.Backup {
			return false
		}
	}
	return len(op.Status.Facts) == 0
}

// Bootstraps reports whether the cluster's record exists only for this operation.
func Bootstraps(op *v1alpha1.Operation) bool {
	return op.Spec.Verb == v1alpha1.VerbCreate || op.Spec.Verb == v1alpha1.VerbRestore && !op.Spec.InPlace
}
