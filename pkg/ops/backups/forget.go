package backups

import (
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// Forget has a cluster tell no more of backups that were deleted from a repository: neither that one of them is the
// newest, or was proven, nor that its proof failed.
func Forget(c *v1alpha1.DatabaseCluster, repository string, ids []string) {
	gone := func(in, id string) bool { return in == repository && slices.Contains(ids, id) }
	st := &c.Status
	for _, ref := range []**v1alpha1.BackupReference{&st.LastBackup, &st.LastVerifiedBackup} {
		if *ref != nil && gone((*ref).Repository, (*ref).ID) {
			*ref = nil
		}
	}
	if p := st.LastProof; p != nil && gone(p.Repository, p.ID) {
		st.LastProof = nil
	}
	if p := st.FailedProof; p != nil && gone(p.Repository, p.ID) {
		st.FailedProof = nil
	}
}
