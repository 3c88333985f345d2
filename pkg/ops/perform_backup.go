package ops

import (
	"context"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// backup streams one member into the repository. Until the manifest is
// written the backup does not exist; the same operation overwrites its own
// remains. After a crash between that and the fact, what is there counts.
func (l *Live) backup(ctx context.Context, s State, step Step, report func(int64, int64)) (Result, error) {
	op := s.Operation
	repo, err := l.repositories(s.Cluster).Open(ctx, l.Namespace, op.Spec.Repository)
	if err != nil {
		return Result{}, err
	}
	defer closing(repo)
	if have, err := repo.Get(ctx, op.Spec.Backup); err == nil && have.Operation == op.Name {
		return l.backedUp(ctx, op)
	}
	session, err := l.connect(ctx, s.Cluster)
	if err != nil {
		return Result{}, err
	}
	w, err := repo.Writer(ctx, op.Spec.Backup, op.Name)
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = w.Abort() }()
	source := s.View.Member(step.member())
	started := l.Client.Now()
	if err := session.Snapshot(ctx, source.Name, w, func(n int64) { report(n, source.DataBytes) }); err != nil {
		return Result{}, fmt.Errorf("stream %s: %w", source.Name, err)
	}
	m := repository.Manifest{Format: 1, ID: op.Spec.Backup, Engine: s.Cluster.Spec.Engine, Cluster: l.Name, Namespace: l.Namespace,
		Version: source.Version, ClusterID: source.ClusterID, Member: source.Name, Operation: op.Name, Tool: l.Tool,
		StartedAt: started, FinishedAt: l.Client.Now()}
	// Snapshot checked the stream.
	open := func(path string) (engine.SnapshotFacts, error) { return l.Engine.OpenSnapshot(path, true) }
	if _, err := w.Commit(ctx, m, open); err != nil {
		return Result{}, fmt.Errorf("complete backup %s: %w", op.Spec.Backup, err)
	}
	return l.backedUp(ctx, op)
}

// backedUp notes the newest backup on the cluster, for status.
func (l *Live) backedUp(ctx context.Context, op *v1alpha1.Operation) (Result, error) {
	ref := &v1alpha1.BackupReference{Repository: op.Spec.Repository, ID: op.Spec.Backup, Time: metav1.NewTime(l.Client.Now())}
	if err := l.change(ctx, func(c *v1alpha1.DatabaseCluster) { c.Status.LastBackup = ref }); err != nil {
		return Result{}, fmt.Errorf("note the backup on the cluster: %w", err)
	}
	return Result{Facts: map[string]string{v1alpha1.FactBackup: op.Spec.Backup}}, nil
}

// repositories opens this cluster's repositories.
func (l *Live) repositories(c *v1alpha1.DatabaseCluster) *Repositories {
	return &Repositories{Client: l.Client, Dialer: l.Dialer, Image: l.helperImage(c)}
}

// closing closes what was only read, or was committed before.
func closing(c io.Closer) { _ = c.Close() }
