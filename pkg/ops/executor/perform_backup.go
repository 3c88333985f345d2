package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opener"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// backup streams one member into the repository. Until the manifest is
// written the backup does not exist; the same operation overwrites its own
// remains. After a crash between that and the fact, what is there counts.
func (l *Executor) backup(ctx context.Context, t task) (ops.Result, error) {
	op := t.Operation
	repo, err := l.repositories(t.Cluster).Open(ctx, l.Namespace, op.Spec.Repository)
	if err != nil {
		return ops.Result{}, err
	}
	defer closing(repo)
	if name, ok := l.remote(op.Spec.Repository); ok {
		return l.backUpInJob(ctx, t.State, t.Step, repo, name)
	}
	if have, err := repo.Get(ctx, op.Spec.Backup); err == nil && have.Operation == op.Name {
		return l.backedUp(ctx, t.State, have)
	}
	if err := holdParent(ctx, repo, t.Parent); err != nil {
		return ops.Result{}, err
	}
	session, err := l.connect(ctx, t.Cluster)
	if err != nil {
		return ops.Result{}, err
	}
	source := t.View.Member(t.Member())
	made, err := l.streamTo(ctx, repo, op, session, source, longest(t.State, source.Name),
		repository.Manifest{ClusterID: source.ClusterID, Member: source.Name, Incarnation: t.Bootstrap().Token,
			Parent: t.Parent, Facts: membership(t.State)}, t.report)
	if err != nil {
		return ops.Result{}, untold(t, err)
	}
	return l.backedUp(ctx, t.State, made)
}

// untold is the error of a backup that could not be streamed. A member that can't tell any more what changed has
// forgotten that it could, so what a schedule takes is decided again: of another member, or all data.
func untold(t task, err error) error {
	if t.Parent == "" || t.Operation.Spec.FullEvery == "" || !errors.Is(err, engine.ErrRefused) {
		return err
	}
	why := err.Error() // a refusal is none any more
	return fmt.Errorf("%s can't tell what changed since backup %s (%s): %w", t.Member(), t.Parent, why,
		engine.ErrNotReady)
}

// looseStorage is how many times its capacity a volume may hold: some storage enforces no size.
const looseStorage = 2

// longest is how long the snapshot of a member may be. What runs there may be
// no database at all, and a stream without an end would fill the repository.
func longest(s ops.State, member string) int64 {
	capacity := s.Kube.Member(member).Volume.Capacity
	return looseStorage * max(capacity.Value(), s.Cluster.Spec.Storage.Size.Value())
}

// boundedWriter takes at most so many bytes; any number if that is 0.
type boundedWriter struct {
	io.Writer
	of, cluster string
	most, left  int64
}

func (w *boundedWriter) Write(p []byte) (int, error) {
	if w.left -= int64(len(p)); w.left < 0 && w.most > 0 {
		return 0, &ops.Error{Kind: ops.NeedsHuman, Check: "snapshot-size",
			Message: fmt.Sprintf("the snapshot has more than %d bytes, %d times what the volume of %s can hold", w.most,
				looseStorage, w.of),
			Hint: fmt.Sprintf(
				"see what runs there: kubectl dbop diagnose %s; where the data really is that large: kubectl dbop resize %s "+
					"--storage SIZE, then repeat the command", w.cluster, w.cluster)}
	}
	return w.Writer.Write(p)
}

// streamTo makes the operation's backup of one member; m says whose it is and which full backup it adds to, and what is
// returned also what it holds.
func (l *Executor) streamTo(ctx context.Context, repo repository.Repository, op *v1alpha1.Operation,
	session engine.Session, source engine.Member, most int64, m repository.Manifest,
	report func(int64, int64)) (repository.Manifest, error) {
	w, err := repo.Writer(ctx, op.Spec.Backup, op.Name)
	if err != nil {
		return m, err
	}
	defer func() { _ = w.Abort() }()
	m.StartedAt = l.Client.Now()
	bounded := &boundedWriter{Writer: w, of: m.Member, cluster: l.Name, most: most, left: most}
	left, err := helper.Stream(ctx, l.Engine, session, source.Name, m.Parent, bounded,
		func(n int64) { report(n, source.DataBytes) })
	if err != nil {
		return m, fmt.Errorf("stream %s: %w", source.Name, err)
	}
	m.Format, m.ID, m.Operation, m.Tool = 1, op.Spec.Backup, op.Name, l.Tool
	m.Scheduled = op.Spec.Scheduled
	m.Engine, m.Cluster, m.Namespace, m.Version = l.Engine.Name(), l.Name, l.Namespace, source.Version
	m.FinishedAt = l.Client.Now()
	// The session checked the stream.
	open := func(path string) (engine.SnapshotFacts, error) {
		facts, err := l.Engine.OpenSnapshot(path, true)
		return facts.Among(m.Facts.Members), err
	}
	made, err := w.Commit(ctx, m, open)
	if err != nil {
		return m, fmt.Errorf("complete backup %s: %w", op.Spec.Backup, err)
	}
	left.Keep(ctx, m.Facts.Members, op.Spec.Backup, op.Spec.Repository)
	return made, nil
}

// holdParent keeps the full backup from every prune that another one is to add to; "" is none.
func holdParent(ctx context.Context, repo repository.Repository, parent string) error {
	if parent == "" {
		return nil
	}
	return repository.HoldFull(ctx, repo, parent, heldFor)
}

// membership is what a snapshot may not say of itself: which members held data. A restore makes as many.
func membership(s ops.State) (f engine.SnapshotFacts) {
	for _, r := range s.View.Data() {
		f.Members = append(f.Members, r.Name)
	}
	if len(f.Members) > 0 {
		return f
	}
	for _, m := range s.Kube.Members {
		if s.Ours(m) && !slices.Contains(s.Bootstrap().Witnesses, m.Name) {
			f.Members = append(f.Members, m.Name)
		}
	}
	return f
}

// backedUp notes the newest backup on the cluster, for status.
func (l *Executor) backedUp(ctx context.Context, s ops.State, made repository.Manifest) (ops.Result, error) {
	id := s.Operation.Spec.Backup
	if err := l.noteBackup(ctx, s, id, made); err != nil {
		return ops.Result{}, err
	}
	done := map[string]string{v1alpha1.FactBackup: id}
	maps.Copy(done, measured(made))
	return ops.Result{Facts: done}, nil
}

// noteBackup writes down which backup of the operation is the newest, and whether a log goes on from it.
func (l *Executor) noteBackup(ctx context.Context, s ops.State, id string, made repository.Manifest) error {
	url := s.Operation.Spec.Repository
	ref := &v1alpha1.BackupReference{Repository: url, ID: id, Time: metav1.NewTime(l.Client.Now())}
	if !made.StartedAt.IsZero() {
		ref.StartedAt = new(metav1.NewTime(made.StartedAt))
	}
	if made.Incarnation != "" && health.ArchiveRepository(l.Engine, s) == url {
		ref.Log = s.Bootstrap().Token
	}
	if err := l.change(ctx, func(c *v1alpha1.DatabaseCluster) { c.Status.LastBackup = ref }); err != nil {
		return fmt.Errorf("note the backup on the cluster: %w", err)
	}
	return nil
}

// measured is what the record of an operation says of its backup.
func measured(m repository.Manifest) map[string]string {
	return map[string]string{v1alpha1.FactBytes: strconv.FormatInt(m.Bytes, 10), v1alpha1.FactContents: m.Facts.Summary()}
}

// repositories opens this cluster's repositories.
func (l *Executor) repositories(c *v1alpha1.DatabaseCluster) *opener.Repositories {
	return &opener.Repositories{Client: l.Client, Dialer: l.Dialer, Image: l.helperImage(c), Mounted: l.Mounted,
		Claims: l.Claims, NoDirectories: l.NoDirectories}
}

// closing closes what was only read, or was committed before.
func closing(c io.Closer) { _ = c.Close() }
