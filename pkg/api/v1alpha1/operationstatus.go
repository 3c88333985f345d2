package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OperationStatus is how far the operation came.
type OperationStatus struct {
	Phase      Phase        `json:"phase,omitempty"`
	StartedAt  metav1.Time  `json:"startedAt,omitempty"`
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
	// Message says why it is paused, failed or cancelled.
	Message string `json:"message,omitempty"`
	// Facts are results that later steps need and nobody can observe, for
	// example that the safety backup was made and verified.
	Facts map[string]string `json:"facts,omitempty"`
	// Journal holds the steps performed so far, oldest first.
	Journal []JournalEntry `json:"journal,omitempty"`
}

// JournalEntry is one performed step.
type JournalEntry struct {
	Step       string       `json:"step"`
	Title      string       `json:"title,omitempty"`
	StartedAt  metav1.Time  `json:"startedAt"`
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
	Error      string       `json:"error,omitempty"`
}

// FactExamined names the fact that holds what a member's volume says of itself.
func FactExamined(member string) string { return "examined/" + member }

// The facts of an operation, see OperationStatus.Facts.
const (
	// FactBackup is set to the identifier once the operation's backup is whole in its repository.
	FactBackup = "backup"
	// FactLastBackup is set to the identifier once all that members held when they stopped is whole in the repository.
	FactLastBackup = "last-backup"
	// FactSource is set to the member that the operation's backup is taken from, before its first byte. Where a Job takes
	// it, the Job has the last word.
	FactSource = "backup-source"
	// FactStopped is set to the identifier once nothing takes the operation's backup any more.
	FactStopped = "backup-stopped"
	// FactProven is set to the identifier of the backup that a restore loads, once each byte of it was read and compared.
	FactProven = "source-proven"
	// FactVerified is set to the identifier once that backup was restored and compared.
	FactVerified = "verified"
	// FactBytes and FactContents are the size of that backup, and what it holds.
	FactBytes    = "backup-bytes"
	FactContents = "backup-contents"
	// FactKept lists the volumes that another incarnation left as they were.
	FactKept = "kept-volumes"
	// FactConverter is the pod that waits to convert data in place, or why there is none.
	FactConverter = "converter"
	// FactPruned is set to the number of backups that retention deleted.
	FactPruned = "pruned"
	// FactAccount is set once the agents have an account that may change the client service, FactAccountDropped once they
	// have none any more.
	FactAccount        = "account"
	FactAccountDropped = "account-dropped"
	// FactHelperImage is set once a cluster without agents has another image of this tool.
	FactHelperImage = "helper-image"
	// FactPrepared is set to the target version once the members are ready for it.
	FactPrepared = "prepared"
	// FactCredentials is set once the secrets with passwords exist.
	FactCredentials = "credentials"
	// FactCompacted is set to the revision before which no member keeps history.
	FactCompacted = "compacted"
	// FactCompared is set once all members were found to have the same data.
	FactCompared = "compared"
	// FactWritten is set once every member took a write.
	FactWritten = "written"
	// FactCutOver is set once the cluster takes writes in the place of its source, to how long nobody could write.
	FactCutOver = "cut-over"
	// FactFollows is set once it is agreed that the cluster follows the one that took its place, FactFinished once that
	// one has given up the way back.
	FactFollows  = "follows"
	FactFinished = "way-back-ended"
	// FactHeld is set once a hold was agreed on, or ended.
	FactHeld = "held"
	// FactObjectsDeleted is set once the objects of a deleted cluster are gone, but for its volumes and records.
	FactObjectsDeleted = "objects-deleted"
	// FactInitialSQL is set once the initial SQL of a new database was carried out.
	FactInitialSQL = "initial-sql"
	// FactProved is set once authentication was tried from all sides.
	FactProved = "proved"
)
