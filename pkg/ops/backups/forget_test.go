package backups

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

func TestForget(t *testing.T) {
	t.Parallel()
	told := func(ids ...string) []string { return ids }
	for name, c := range map[string]struct {
		repository string
		gone, want []string
	}{
		"the newest":          {"offsite", []string{"last"}, told("", "verified", "proven", "failed")},
		"the one that failed": {"offsite", []string{"other", "failed"}, told("last", "verified", "proven", "")},
		"all of them":         {"offsite", []string{"verified", "last", "failed", "proven"}, told("", "", "", "")},
		"of another place":    {"elsewhere", []string{"last", "failed"}, told("last", "verified", "proven", "failed")},
		"none":                {"offsite", nil, told("last", "verified", "proven", "failed")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ref := func(id string) v1alpha1.BackupReference {
				return v1alpha1.BackupReference{Repository: "offsite", ID: id}
			}
			db := &v1alpha1.DatabaseCluster{}
			db.Status.LastBackup, db.Status.LastVerifiedBackup = new(ref("last")), new(ref("verified"))
			db.Status.LastProof = &v1alpha1.BackupProof{BackupReference: ref("proven")}
			db.Status.FailedProof = &v1alpha1.FailedProof{Repository: "offsite", ID: "failed"}
			Forget(db, c.repository, c.gone)
			got := told("", "", "", "")
			if b := db.Status.LastBackup; b != nil {
				got[0] = b.ID
			}
			if b := db.Status.LastVerifiedBackup; b != nil {
				got[1] = b.ID
			}
			if p := db.Status.LastProof; p != nil {
				got[2] = p.ID
			}
			if p := db.Status.FailedProof; p != nil {
				got[3] = p.ID
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
