package health

import (
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// Restorable is the newest moment that a restore of the newest backup gives back, as far as the record of the cluster
// and its leader know it: no store is asked. Backups that others took, or that are older, are not among that.
type Restorable struct {
	// Until is the moment: what was committed before can be restored.
	Until time.Time `json:"until"`
	// Backup is where a restore begins, and Repository where that is.
	Backup     string `json:"backup"`
	Repository string `json:"repository"`
	// Archived says that the archived log goes on from the backup until then. Without it the moment is when the stream of
	// the backup began, or, of an older record, when it ended.
	Archived bool `json:"archived,omitempty"`
	// Proof is the newest proof that is known, of this backup or of an older one.
	Proof *v1alpha1.BackupProof `json:"proof,omitempty"`
	// Failed says that the last proof of the backup failed.
	Failed bool `json:"failed,omitempty"`
}

// RestorableOf is nil where no backup is known.
func RestorableOf(e engine.Engine, s ops.State) *Restorable {
	if s.Cluster == nil || s.Cluster.Status.LastBackup == nil {
		return nil
	}
	st := s.Cluster.Status
	b := st.LastBackup
	out := &Restorable{Until: b.Time.UTC(), Backup: b.ID, Repository: b.Repository, Proof: lastProof(st),
		Failed: st.FailedProof != nil && st.FailedProof.ID == b.ID && st.FailedProof.Repository == b.Repository}
	if b.StartedAt != nil && b.StartedAt.Before(&b.Time) {
		out.Until = b.StartedAt.UTC()
	}
	if until := archivedFrom(e, s, b); until.After(b.Time.Time) {
		out.Until, out.Archived = until, true
	}
	return out
}

// archivedFrom is the end of the archived log that goes on from a backup; zero if none does, or if nobody knows. A
// leader that saw the log begin again later than the backup does not know what is missing between the two.
func archivedFrom(e engine.Engine, s ops.State, b *v1alpha1.BackupReference) time.Time {
	leader, leads := s.View.Leader()
	if !leads || b.Log == "" || b.Log != s.Bootstrap().Token || ArchiveRepository(e, s) != b.Repository ||
		b.StartedAt == nil || leader.ArchivedSince.After(b.StartedAt.Time) {
		return time.Time{}
	}
	return ArchivedUntil(s)
}

// lastProof is the newest proof that a record tells. A program of before proofs of all levels were noted tells of
// restorations alone.
func lastProof(st v1alpha1.DatabaseClusterStatus) *v1alpha1.BackupProof {
	p, v := st.LastProof, st.LastVerifiedBackup
	if v != nil && (p == nil || p.Time.Before(&v.Time) && p.ID != v.ID) {
		return &v1alpha1.BackupProof{BackupReference: *v, Level: levelRestorable}
	}
	return p
}

// levelRestorable is the level of a backup that was restored and compared.
const levelRestorable = "restorable"

// Text says it in words; age writes how long ago something was.
func (r *Restorable) Text(age func(time.Time) string) string {
	by := "as the newest backup has it"
	if r.Archived {
		by = "by the newest backup and the log in " + r.Repository
	}
	proof := "no proof of it is known"
	switch p := r.Proof; {
	case r.Failed:
		proof = "its last proof failed"
	case p != nil && p.ID == r.Backup && p.Repository == r.Repository:
		proof = fmt.Sprintf("it was proven %s %s ago", p.Level, age(p.Time.Time))
	case p != nil:
		proof += fmt.Sprintf("; %s was proven %s %s ago", p.ID, p.Level, age(p.Time.Time))
	}
	return fmt.Sprintf("%s, %s ago, %s; %s", ops.Moment(r.Until), age(r.Until), by, proof)
}
