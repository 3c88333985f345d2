package cli

import (
	"context"
	"errors"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/external"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// restoreFile makes a backup of a snapshot file, unless there is one, and
// restores it like any other.
func restoreFile(ctx context.Context, f *Factory, c *change, flags *restoreFlags, name string) error {
	file, err := external.OpenSnapshotFile(f.Engines, flags.file, flags.version)
	if err != nil {
		return err
	}
	r, err := f.openRepository(ctx, flags.repo, name, flags.helper)
	if err != nil {
		return err
	}
	in, err := importFile(ctx, f, c, flags, name, file, r)
	if err := errors.Join(err, r.Close()); err != nil {
		return c.settle(in, err)
	}
	return c.run(ctx, in)
}

// importFile returns the restore of the backup. The restore is judged before
// the file is imported for its sake; a plan and a dry run import nothing.
func importFile(ctx context.Context, f *Factory, c *change, flags *restoreFlags, name string,
	file *external.SnapshotFile, r repository.Repository) (intent, error) {
	namespace, err := f.namespace()
	if err != nil {
		return intent{}, err
	}
	m, stored, err := file.Find(ctx, r, name, namespace, f.Build.Version, f.Now())
	if err != nil {
		return intent{}, err
	}
	in, err := restoreNew(ctx, f, flags, name, r.URL(), m, file.Engine)
	if err != nil {
		return in, err
	}
	if stored {
		f.note("%s is in %s already, as backup %s", flags.file, r.URL(), m.ID)
		return in, planner.WholeBackup(ctx, r, m, file.Engine)
	}
	step := external.ImportStep(m, r.URL())
	in.request.Import = &step
	if c.mode == planOnly || c.dryRun != dryRunNone {
		return in, nil
	}
	if _, err := c.prepare(ctx, in, kube.DryRunClient); err != nil {
		return in, err
	}
	in.request.Import = nil
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	plan := ops.Plan{Verb: "import", Cluster: name, Steps: []ops.Step{step}}
	_, err = c.stream(ctx, plan, func(ctx context.Context, report func(n, total int64)) (repository.Manifest, error) {
		return file.Import(ctx, r, m, report)
	})
	return in, err
}
