package backup

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/pruning"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

func newBackupDelete(f *command.Factory) *cobra.Command {
	c := command.NewAction(f)
	var repo string
	cmd := &cobra.Command{
		Use:   "delete ID",
		Short: "Delete a backup",
		Long:  "Delete a backup from its repository, for good. A damaged one can be deleted, too.",
		Example: `  # Delete a backup of the default repository
  kubectl dbop backup delete my-db-20261121T101500Z-0a1b`,
		Args:              command.Arguments(1, 1, "the ID of the backup"),
		ValidArgsFunction: command.CompleteBackups(f, &repo),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runBackupDelete(cmd.Context(), f, c, repo, args[0])
		},
	}
	c.AddTo(cmd, command.ShortTimeout, true)
	command.AddRepositoryFlag(cmd, &repo, "the backup")
	return cmd
}

func runBackupDelete(ctx context.Context, f *command.Factory, c *command.Change, repo, id string) error {
	var r repository.Repository
	var m repository.Manifest
	err := c.Within(ctx, func(ctx context.Context) (err error) {
		r, m, err = f.OpenBackup(ctx, repo, id, "")
		return err
	})
	if r != nil {
		defer func() { _ = r.Close() }()
	}
	if r == nil || ops.KindOf(err) == ops.TimedOut {
		return err
	}
	if errors.Is(err, repository.ErrNotFound) && c.DryRun == command.DryRunNone {
		noteDeleted(ctx, f, r.URL(), repository.ClusterOf(id), id) // a deletion that was interrupted did not
	}
	damaged := errors.Is(err, repository.ErrDamaged)
	if err != nil && !damaged {
		return &ops.Error{Kind: ops.Failed, Message: fmt.Sprintf("backup %s in %s", id, r.URL()),
			Hint: command.DisplayName + " backup list --repository " + r.URL(), Err: err}
	}
	q := backupQuestion(r.URL(), m, f.Age(m.FinishedAt))
	if damaged {
		m.ID = id
		q = command.Question{What: "Delete backup " + id + " from " + r.URL(),
			Lost: []string{"a damaged backup: " + err.Error()}}
	}
	namespace, err := f.Namespace()
	if err != nil {
		return err
	}
	in := command.Intent{Namespace: namespace, Subject: "backup/" + id, Verbed: "deleted"}
	if c.DryRun == command.DryRunNone {
		if !c.Yes {
			if err := f.Confirm(ctx, in, q); err != nil {
				return err
			}
		}
		if err := c.Within(ctx, func(ctx context.Context) error { return r.Delete(ctx, id) }); err != nil {
			return fmt.Errorf("delete backup %s from %s: %w", id, r.URL(), err)
		}
		noteDeleted(ctx, f, r.URL(), repository.ClusterOf(id), id)
	} else {
		in.Verbed = "deleted (dry run)"
		if c.DryRun == command.DryRunServer {
			f.Note("not rehearsed: a repository has no dry run")
		}
	}
	if !c.Out.Human() {
		return c.Out.Print(f.Streams.Out, "Backup", m)
	}
	return c.Report(ctx, in, nil, nil)
}

// noteDeleted has the record of a cluster tell no more of what is gone. That is done already, so it is not a failure if
// nobody can be told.
func noteDeleted(ctx context.Context, f *command.Factory, url, cluster string, ids ...string) {
	namespace, err := f.Namespace()
	if err == nil && len(ids) > 0 {
		var s store.Store
		if s, err = f.Clients.Store(kube.DryRunNone); err == nil {
			err = pruning.NoteDeleted(ctx, s, namespace, cluster, url, ids)
		}
	}
	if err != nil {
		f.Note("status may go on to tell of what was deleted: %v", err)
	}
}

func backupQuestion(url string, m repository.Manifest, age string) command.Question {
	verified := "never verified"
	if m.Verified != nil {
		verified = "verified"
	}
	return command.Question{What: "Delete backup " + m.ID + " from " + url,
		Lost: []string{fmt.Sprintf("%s of cluster %s, %s old, %s", printer.Size(m.Bytes), m.Cluster, age, verified)}}
}
