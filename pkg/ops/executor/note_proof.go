package executor

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

// verifiedNow names a backup that was verified.
func (l *Executor) verifiedNow(url, id string) *v1alpha1.BackupReference {
	return &v1alpha1.BackupReference{Repository: url, ID: id, Time: metav1.NewTime(l.Client.Now())}
}

// failedNow is what a cluster is told of a proof that failed; nil if the error says nothing of the backup.
func (l *Executor) failedNow(url string, want Proving, err error) *v1alpha1.FailedProof {
	if !disproves(err) {
		return nil
	}
	return &v1alpha1.FailedProof{Repository: url, ID: want.Backup, Level: string(want.Level),
		Time: metav1.NewTime(l.Client.Now()), Reason: archive.Brief(reasonOf(err))}
}

// prove notes a proof that succeeded, and lets go one that failed if it answers that. Of two proofs of one backup the
// higher level counts, and of two backups the newer one.
func prove(c *v1alpha1.DatabaseCluster, proven Proving, ref *v1alpha1.BackupReference) {
	if proven.Level == repository.LevelRestorable {
		c.Status.LastVerifiedBackup = ref
	}
	last := c.Status.LastProof
	same := last != nil && last.ID == ref.ID && last.Repository == ref.Repository
	switch {
	case last == nil, same && proven.Level.Includes(repository.Level(last.Level)),
		!same && (last.ID <= ref.ID || repository.ClusterOf(last.ID) != repository.ClusterOf(ref.ID)):
		c.Status.LastProof = &v1alpha1.BackupProof{BackupReference: *ref, Level: string(proven.Level)}
	}
	answer(c, proven)
}

// answer lets go a proof that failed once one succeeded: of that backup, of the same level or a higher one, or of a
// newer backup, which a restore would take.
func answer(c *v1alpha1.DatabaseCluster, proven Proving) {
	failed := c.Status.FailedProof
	if failed == nil {
		return
	}
	newer := proven.Level == repository.LevelRestorable && failed.ID < proven.Backup &&
		repository.ClusterOf(failed.ID) == repository.ClusterOf(proven.Backup)
	if newer || failed.ID == proven.Backup && proven.Level.Includes(repository.Level(failed.Level)) {
		c.Status.FailedProof = nil
	}
}

// NoteProof notes on the cluster what a verification outside of an operation found: that a backup was restored and
// compared, or, by the error, that a proof failed. It does nothing where the cluster is gone, where the backup is of
// another cluster or of another incarnation of this one, and where a newer backup was verified already.
func (l *Executor) NoteProof(ctx context.Context, repo repository.Repository, want Proving, found error) error {
	if found != nil && !disproves(found) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ops.SaveGrace)
	defer cancel()
	m, err := repo.Get(ctx, want.Backup)
	if err != nil && found != nil {
		return nil // nobody knows whose backup it is, and the error says why
	}
	if err != nil {
		return fmt.Errorf("find backup %s: %w", want.Backup, err)
	}
	err = ops.Retry(ctx, func() error {
		c, err := l.Store.GetCluster(ctx, l.Namespace, l.Name)
		if err != nil || !verifiesNewer(c, m) {
			return err
		}
		before := c.Status.DeepCopy()
		if found != nil {
			c.Status.FailedProof = l.failedNow(repo.URL(), want, found)
		} else {
			prove(c, want, l.verifiedNow(repo.URL(), want.Backup))
		}
		if equality.Semantic.DeepEqual(before, &c.Status) {
			return nil
		}
		return l.Store.UpdateCluster(ctx, c)
	}, kube.ErrNotFound)
	if err != nil && !errors.Is(err, kube.ErrNotFound) {
		return fmt.Errorf("backup %s was verified, and its repository says what was found; note it on cluster %s/%s: %w",
			want.Backup, l.Namespace, l.Name, err)
	}
	return nil
}

// verifiesNewer reports whether a verified backup is of this cluster as it is now, and no older than the newest one
// that is known to be verified. The identifiers of the backups of one cluster sort by time.
func verifiesNewer(c *v1alpha1.DatabaseCluster, m repository.Manifest) bool {
	last := c.Status.LastVerifiedBackup
	return m.Cluster == c.Name && m.Namespace == c.Namespace && ofThisHistory(c, m) &&
		(last == nil || last.ID <= m.ID || repository.ClusterOf(last.ID) != repository.ClusterOf(m.ID))
}

// ofThisHistory reports whether a backup is of the present incarnation of a cluster. An object store keeps the token of
// it, shortened if it is long, for databases with a log alone; a restore in place changes the cluster's own identifier,
// too.
func ofThisHistory(c *v1alpha1.DatabaseCluster, m repository.Manifest) bool {
	b := c.Status.Bootstrap
	switch {
	case b == nil:
		return false
	case m.Incarnation == "":
		return m.Format == archive.Format && m.ClusterID != "" && m.ClusterID == b.ClusterID
	}
	return m.Incarnation == b.Token || m.Incarnation == bucket.Incarnation(b.Token)
}
