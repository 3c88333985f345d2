package backup

import (
	"context"
	"errors"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/external"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// restoreFile makes a backup of a snapshot file, unless there is one, and
// restores it like any other.
func restoreFile(ctx context.Context, f *command.Factory, c *command.Change, flags *restoreFlags, name string) error {
	file, err := external.OpenSnapshotFile(f.Engines, flags.file, flags.Version)
	if err != nil {
		return err
	}
	r, err := f.OpenRepository(ctx, flags.repo, name, flags.Helper)
	if err != nil {
		return err
	}
	in, err := importFile(ctx, f, c, flags, name, file, r)
	if err := errors.Join(err, r.Close()); err != nil {
		return c.Settle(in, err)
	}
	return c.Run(ctx, in)
}

// importFile returns the restore of the backup. The restore is judged before
// the file is imported for its sake; a plan and a dry run import nothing.
func importFile(ctx context.Context, f *command.Factory, c *command.Change, flags *restoreFlags, name string,
	file *external.SnapshotFile, r repository.Repository) (command.Intent, error) {
	namespace, err := f.Namespace()
	if err != nil {
		return command.Intent{}, err
	}
	m, stored, err := file.Find(ctx, r, name, namespace, f.Build.Version, f.Now())
	if err != nil {
		return command.Intent{}, err
	}
	in, err := restoreNew(ctx, f, flags, name, r.URL(), m, file.Engine)
	if err != nil {
		return in, err
	}
	if stored {
		f.Note("%s is in %s already, as backup %s", flags.file, r.URL(), m.ID)
		return in, planner.WholeBackup(ctx, r, m, file.Engine)
	}
	step := external.ImportStep(m, r.URL())
	in.Request.Import = &step
	if c.Planning() || c.DryRun != command.DryRunNone {
		return in, nil
	}
	if _, err := c.Prepare(ctx, in, kube.DryRunClient); err != nil {
		return in, err
	}
	in.Request.Import = nil
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	plan := ops.Plan{Verb: "import", Cluster: name, Steps: []ops.Step{step}}
	_, err = c.Stream(ctx, plan, func(ctx context.Context, report func(n, total int64)) (repository.Manifest, error) {
		return file.Import(ctx, r, m, report)
	})
	return in, err
}
