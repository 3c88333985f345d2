package health

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// FailedProof is the word for a backup whose last proof failed, beside the reasons of a Schedule.
const FailedProof = "FailedProof"

// failedProof says that the last proof of a backup failed; "" if none did that still counts. One of an older backup
// than the newest verified one is not kept in the record.
func failedProof(s ops.State) string {
	f := s.Cluster.Status.FailedProof
	if f == nil {
		return ""
	}
	return fmt.Sprintf("backup %s in %s was verified at %s, and is not %s: %s", f.ID, f.Repository,
		ops.Moment(f.Time.Time), f.Level, ops.Printable(f.Reason))
}

// verifyNew takes a backup and proves it, which also answers a proof that failed.
func verifyNew(cluster string) string { return "kubectl dbop backup " + cluster + " --verify" }
