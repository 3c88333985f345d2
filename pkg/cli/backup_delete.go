package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

func newBackupDelete(f *Factory) *cobra.Command {
	c := newChange(f, perform)
	var repo string
	cmd := &cobra.Command{
		Use:   "delete ID",
		Short: "Delete a backup",
		Long:  "Delete a backup from its repository, for good. A damaged one can be deleted, too.",
		Example: `  # Delete a backup of the default repository
  kubectl dbop backup delete my-db-20261121T101500Z-0a1b`,
		Args:              arguments(1, 1, "the ID of the backup"),
		ValidArgsFunction: completeBackups(f, &repo),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.check(); err != nil {
				return err
			}
			return runBackupDelete(cmd.Context(), f, c, repo, args[0])
		},
	}
	c.addTo(cmd, shortTimeout, true)
	addRepositoryFlag(cmd, &repo, "the backup")
	return cmd
}

func runBackupDelete(ctx context.Context, f *Factory, c *change, repo, id string) error {
	r, m, err := f.lookUpBackup(ctx, repo, id, "")
	if r == nil {
		return err
	}
	defer func() { _ = r.Close() }()
	damaged := errors.Is(err, repository.ErrDamaged)
	if err != nil && !damaged {
		return &ops.Error{Kind: ops.Failed, Message: fmt.Sprintf("backup %s in %s", id, r.URL()), Hint: displayName + " backup list --repository " + r.URL(), Err: err}
	}
	q := backupQuestion(r.URL(), m, f.age(m.FinishedAt))
	if damaged {
		m.ID = id
		q = question{what: "Delete backup " + id + " from " + r.URL(), lost: []string{"a damaged backup: " + err.Error()}}
	}
	namespace, err := f.namespace()
	if err != nil {
		return err
	}
	in := intent{namespace: namespace, subject: "backup/" + id, verbed: "deleted"}
	if c.dryRun == dryRunNone {
		if !c.yes {
			if err := f.confirm(ctx, in, q); err != nil {
				return err
			}
		}
		if err := r.Delete(ctx, id); err != nil {
			return fmt.Errorf("delete backup %s from %s: %w", id, r.URL(), err)
		}
	} else {
		in.verbed = "deleted (dry run)"
		if c.dryRun == dryRunServer {
			f.note("not rehearsed: a repository has no dry run")
		}
	}
	if !c.out.human() {
		return c.out.print(f.Streams.Out, "Backup", m)
	}
	return c.report(ctx, in, nil, nil)
}

func backupQuestion(url string, m repository.Manifest, age string) question {
	verified := "never verified"
	if m.Verified != nil {
		verified = "verified"
	}
	return question{what: "Delete backup " + m.ID + " from " + url,
		lost: []string{fmt.Sprintf("%s of cluster %s, %s old, %s", size(m.Bytes), m.Cluster, age, verified)}}
}
