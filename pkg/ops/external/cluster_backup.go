package external

import (
	"context"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// externalOperation begins the identifier of who wrote a backup of an external cluster:
// there is no operation to record on what is not ours.
const externalOperation = "outside/"

// Backup streams one member into the repository, checked as any other backup.
// It writes nothing to Kubernetes or to the database. A crash leaves what the
// repository knows to be unfinished, never half a backup.
func (o *Cluster) Backup(ctx context.Context, repo repository.Repository, id string,
	report func(bytes, total int64)) (repository.Manifest, error) {
	if o.Engine.Capabilities().Source {
		return repository.Manifest{}, &ops.Error{Kind: ops.Refused, Check: "backup",
			Message: o.Title() + " was made by something else, and " + o.Engine.Name() + " is not backed up past its agents",
			Hint:    follow(o.Engine.Name())}
	}
	v, names := o.look(ctx)
	source := o.Engine.Source(v, false)
	if source == "" {
		why := "none answers"
		for _, m := range v.Members {
			if err := o.Engine.Health(v, m.Name); err != nil {
				why = err.Error()
				break
			}
		}
		return repository.Manifest{}, &ops.Error{Kind: ops.Refused, Check: "backup",
			Message: fmt.Sprintf("no member of %s is fit to take a backup from: %s", o.Title(), why),
			Hint:    "kubectl dbop inspect shows what is wrong, with the same flags"}
	}
	pod := ""
	for p, name := range names {
		if name == source {
			pod = p
		}
	}
	w, err := repo.Writer(ctx, id, externalOperation+id)
	if err != nil {
		return repository.Manifest{}, err
	}
	defer func() { _ = w.Abort() }()
	member := v.Member(source)
	started := o.Client.Now()
	if err := o.session.Snapshot(ctx, pod, w, func(n int64) { report(n, member.DataBytes) }); err != nil {
		return repository.Manifest{}, fmt.Errorf("stream %s: %w", source, err)
	}
	m := repository.Manifest{Format: 1, ID: id, Engine: o.Engine.Name(), Cluster: o.Title(), Namespace: o.Namespace,
		Version:   member.Version,
		ClusterID: member.ClusterID, Member: source, Operation: externalOperation + id, Tool: o.Tool, StartedAt: started,
		FinishedAt: o.Client.Now()}
	// Snapshot checked the stream.
	open := func(path string) (engine.SnapshotFacts, error) { return o.Engine.OpenSnapshot(path, true) }
	if m, err = w.Commit(ctx, m, open); err != nil {
		return m, fmt.Errorf("complete backup %s: %w", id, err)
	}
	return m, nil
}
