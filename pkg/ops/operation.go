package ops

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// IncarnationRecorded reports whether the operation may have ended an incarnation.
func IncarnationRecorded(op *v1alpha1.Operation) bool {
	return slices.ContainsFunc(op.Status.Journal, func(j v1alpha1.JournalEntry) bool { return j.Step == StepIncarnation })
}

// OrUnknown is the text, or <unknown> for none.
func OrUnknown(s string) string {
	if s == "" {
		return "<unknown>"
	}
	return s
}

// BackupJob is the name of the Job that takes a backup into an object store.
func BackupJob(backup string) string { return strings.ToLower(backup) }

// Converter is the name of the pod that converts the data of a member on its volume.
func Converter(member string) string { return member + "-convert" }

// ThrowAway is the name of the member that a backup is restored into to be compared, by a cluster or, for "", by none.
func ThrowAway(cluster, backup string) string {
	id := backup
	if cluster != "" {
		id = cluster + "/" + backup
	}
	sum := sha256.Sum256([]byte(id))
	return "verify-" + hex.EncodeToString(sum[:4])
}

// CheckJobFailed is the check of the error that a Job of the tool has failed, and is gone.
const CheckJobFailed = "backup-job"

// JobStarted reports whether a Job may be taking the backup of an operation, which goes on without the process that
// started it.
func JobStarted(op *v1alpha1.Operation) bool {
	at, err := repository.ParseLocation(op.Spec.Repository)
	if err != nil || at.Kind != repository.KindNamed || op.Spec.Backup == "" ||
		op.Status.Facts[v1alpha1.FactBackup] != "" {
		return false
	}
	return slices.ContainsFunc(op.Status.Journal,
		func(j v1alpha1.JournalEntry) bool { return j.Step == BackupStepPrefix+op.Spec.Backup })
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
	for name := range op.Status.Facts {
		if name != v1alpha1.FactSource { // who was asked, not what came of it
			return false
		}
	}
	return true
}
