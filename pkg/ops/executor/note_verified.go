package executor

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

func (l *Executor) verifiedNow(url, id string) *v1alpha1.BackupReference {
	return &v1alpha1.BackupReference{Repository: url, ID: id, Time: metav1.NewTime(l.Client.Now())}
}

// NoteVerified notes on the cluster that a backup was verified outside of an operation. It does nothing where the
// cluster is gone, where the backup is of another cluster or of another incarnation of this one, and where a newer
// backup was verified already.
func (l *Executor) NoteVerified(ctx context.Context, repo repository.Repository, id string) error {
	m, err := repo.Get(ctx, id)
	if err != nil {
		return fmt.Errorf("find backup %s: %w", id, err)
	}
	ref := l.verifiedNow(repo.URL(), id)
	err = ops.Retry(ctx, func() error {
		c, err := l.Store.GetCluster(ctx, l.Namespace, l.Name)
		if err != nil || !verifiesNewer(c, m) {
			return err
		}
		c.Status.LastVerifiedBackup = ref
		return l.Store.UpdateCluster(ctx, c)
	}, kube.ErrNotFound)
	if err != nil && !errors.Is(err, kube.ErrNotFound) {
		return fmt.Errorf("backup %s is verified, and its repository says so; note it on cluster %s/%s: %w", id,
			l.Namespace, l.Name, err)
	}
	return nil
}

// verifiesNewer reports whether a verified backup is of this cluster as it is now, and no older than the newest one
// that is known to be verified. The identifiers of the backups of one cluster sort by time.
func verifiesNewer(c *v1alpha1.DatabaseCluster, m repository.Manifest) bool {
	b, last := c.Status.Bootstrap, c.Status.LastVerifiedBackup
	return m.Cluster == c.Name && m.Namespace == c.Namespace && b != nil && m.Incarnation == b.Token &&
		(last == nil || last.ID <= m.ID || repository.ClusterOf(last.ID) != repository.ClusterOf(m.ID))
}
