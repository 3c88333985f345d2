package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

func newBackupList(f *Factory) *cobra.Command {
	out := newOutput(formatWide, formatName)
	var repo string
	cmd := &cobra.Command{
		Use:   "list [NAME]",
		Short: "List the backups of a repository",
		Long:  "List the backups of a repository, newest first: those of one cluster, or of all. The cluster need not exist any more.",
		Example: `  # List the backups of my-db in the default repository
  kubectl dbop backup list my-db

  # List everything in a directory
  kubectl dbop backup list --repository dir:/backups`,
		Args:              arguments(0, 1, "NAME"),
		ValidArgsFunction: completeClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			return runBackupList(cmd.Context(), f, out, repo, name)
		},
	}
	out.addTo(cmd)
	addRepositoryFlag(cmd, &repo, "the backups")
	return cmd
}

func runBackupList(ctx context.Context, f *Factory, out *output, repo, name string) error {
	r, err := f.openRepository(ctx, repo, name, "")
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	backups, err := r.List(ctx, name)
	if err != nil {
		return err
	}
	switch {
	case !out.human():
		return out.print(f.Streams.Out, "BackupList", list[repository.Manifest]{Items: backups})
	case len(backups) == 0:
		f.note("No backups found in %s.", r.URL())
		return nil
	case out.name():
		for _, b := range backups {
			if _, err := f.Streams.Out.Write([]byte("backup/" + b.ID + "\n")); err != nil {
				return err
			}
		}
		return nil
	}
	return backupTable(f, backups, out.wide()).print(f.Streams.Out, "")
}

func backupTable(f *Factory, backups []repository.Manifest, wide bool) *table {
	columns := []string{"NAME", "CLUSTER", "ENGINE", "VERSION", "SIZE", "VERIFIED"}
	if wide {
		columns = append(columns, "NAMESPACE", "REVISION", "KEYS", "MEMBER", "SHA256")
	}
	t := newTable(append(columns, "AGE")...)
	for _, b := range backups {
		verified := "no"
		if b.Verified != nil {
			verified = f.age(b.Verified.Time)
		}
		row := []string{b.ID, b.Cluster, b.Engine, b.Version, size(b.Bytes), verified}
		if wide {
			row = append(row, b.Namespace, itoa(b.Facts.Revision), itoa(b.Facts.Keys), b.Member, b.SHA256)
		}
		t.row(append(row, f.age(b.FinishedAt))...)
	}
	return t
}
