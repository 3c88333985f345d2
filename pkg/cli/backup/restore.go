package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/cluster"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/policy"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// restoreFlags are those that only restore has.
type restoreFlags struct {
	cluster.Flags
	from, file, repo, rootSecret      string
	formerImage                       string
	target                            v1alpha1.RecoveryTarget
	inPlace, keepRevision, skipBackup bool
}

// NewRestore makes the command restore.
func NewRestore(f *command.Factory) *cobra.Command {
	c := command.NewChange(f)
	flags := &restoreFlags{}
	cmd := &cobra.Command{
		Use:   "restore NAME (--from ID | --from-file FILE)",
		Short: "Restore a backup into a new cluster, or in place",
		Long: `Restore a backup into a new cluster, or with --in-place over a cluster that exists: a safety backup first,
the old volumes are kept: 'kubectl dbop undo' goes back to them, 'kubectl dbop drop-volumes' drops them. One member gets
the backup, and the others copy its data. Of etcd revisions are bumped and marked compacted, so that no watcher sees
time go back. PostgreSQL goes on with a timeline of its own.

With --version a backup of PostgreSQL goes into a later major version: its data is converted on the way.

A snapshot file of etcd, as 'etcdctl snapshot save' makes it, is checked, imported into the repository as a backup, and
restored into a new cluster. A file that the repository holds already is not imported again.`,
		Example: `  # Restore a backup into a new cluster
  kubectl dbop restore my-copy --from my-db-20261121T101500Z-0a1b

  # Put my-db back to a backup
  kubectl dbop restore my-db --in-place --from my-db-20261121T101500Z-0a1b

  # Put a PostgreSQL, Valkey or Redis back to a moment, by a backup from before it and the archived log
  kubectl dbop restore my-db --in-place --from my-db-20261121T101500Z-0a1b --to-time 2026-11-21T10:59:00Z

  # Put it back to a restore point that "SELECT pg_create_restore_point('before-import')" made
  kubectl dbop restore my-db --in-place --from my-db-20261121T101500Z-0a1b --to-name before-import

  # Try a later major version of PostgreSQL with the data of a backup
  kubectl dbop restore my-copy --from my-db-20261121T101500Z-0a1b --version 18

  # Move from Redis to Valkey
  kubectl dbop restore my-valkey --from my-redis-20261121T101500Z-0a1b --engine valkey

  # Restore a snapshot file of etcdctl into a new cluster
  kubectl dbop restore my-db --from-file snapshot.db`,
		Args:              command.Arguments(1, 1, "the NAME of the cluster"),
		ValidArgsFunction: command.CompleteClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case flags.from != "" && flags.file != "":
				return exit.Misuse("--from and --from-file exclude each other")
			case flags.file != "" && flags.inPlace:
				return exit.Misuse("--from-file and --in-place exclude each other: a file is restored into a new cluster")
			case flags.from == "" && flags.file == "":
				return &exit.UsageError{Text: "--from or --from-file is required", Advice: command.DisplayName + " backup list"}
			}
			if err := errors.Join(flags.checkTarget(), cluster.CheckName(args[0])); err != nil {
				return err
			}
			if flags.file != "" {
				return restoreFile(cmd.Context(), f, c, flags, args[0])
			}
			in, opened, err := restoreIntent(cmd.Context(), f, cmd, flags, args[0])
			if err != nil {
				return err
			}
			if opened != nil {
				defer opened.Close() //nolint:errcheck // it was only read
			}
			return c.Run(cmd.Context(), in)
		},
	}
	c.AddTo(cmd, command.StreamTimeout, true)
	cmd.Flags().StringVar(&flags.from, "from", "", "Identifier of the backup, see 'kubectl dbop backup list'.")
	cmd.Flags().StringVar(&flags.Engine, "engine", "", "Database that loads the backup, if not the one that it was taken "+
		"of: valkey for a backup of redis up to 7.2.")
	addTarget(cmd, &flags.target)
	cmd.Flags().StringVar(&flags.formerImage, "former-image", "",
		"For PostgreSQL, where --version is a later major version: image of the backup's version, instead of the catalog's.")
	cmd.Flags().StringVar(&flags.file, "from-file", "",
		"Snapshot file of the database's own client, such as one of 'etcdctl snapshot save'.")
	command.AddRepositoryFlag(cmd, &flags.repo, "the backup")
	cmd.Flags().BoolVar(&flags.inPlace, "in-place", false, "Restore over the existing cluster of that name.")
	cmd.Flags().BoolVar(&flags.keepRevision, "keep-revision", false,
		"For etcd: keep the revision of the backup. Without it the revision rises, so that clients notice the restore.")
	cmd.Flags().BoolVar(&flags.skipBackup, "skip-backup", false, "With --in-place: don't take a safety backup first.")
	cmd.Flags().StringVar(&flags.rootSecret, "root-password-secret", "",
		"Secret with the administrator's password of the time of the backup, for backups that demand one and clusters "+
			"without TLS.")
	cmd.Flags().Int32Var(&flags.Members, "members", 0,
		"Number of members; as many as the cluster had at the backup if not set.")
	flags.AddTo(f, cmd)
	_ = cmd.RegisterFlagCompletionFunc("from", command.CompleteBackups(f, &flags.repo))
	return cmd
}

// restoreIntent finds the backup, and refuses one that is damaged. The repository stays open for the steps that load it
// into a new cluster; in place it is nil, as a person is asked first, and a safety backup is taken.
func restoreIntent(ctx context.Context, f *command.Factory, cmd *cobra.Command, flags *restoreFlags,
	name string) (in command.Intent, opened io.Closer, err error) {
	r, m, err := f.FindBackup(ctx, flags.repo, flags.from, flags.Helper)
	if err != nil {
		return in, nil, err
	}
	defer func() {
		if opened == nil {
			err = errors.Join(err, r.Close())
		}
	}()
	e, err := f.EngineNamed(m.Engine)
	if err == nil {
		err = planner.WholeBackup(ctx, r, m, e)
	}
	if err == nil {
		flags.target, err = (&planner.Windows{}).Resolve(ctx, e, r, m, flags.target)
	}
	if err != nil {
		return in, nil, err
	}
	if flags.inPlace {
		in, err = restoreInPlace(ctx, f, cmd, flags, name, r.URL(), m)
		return in, nil, err
	}
	if in, err = restoreNew(ctx, f, flags, name, r.URL(), m, e); err != nil {
		return in, nil, err
	}
	return in, r, nil
}

// source is a backup as a record of the operation names it.
func (o *restoreFlags) source(url string, m repository.Manifest) *v1alpha1.BackupSource {
	took := m.FinishedAt.Sub(m.StartedAt).Round(time.Second)
	return &v1alpha1.BackupSource{Repository: url, Backup: m.ID, Version: m.Version, Auth: m.Facts.Auth,
		RootSecret: o.rootSecret, Target: o.target, FormerImage: o.formerImage,
		Bytes: m.Bytes, Seconds: int64(max(took, 0) / time.Second)}
}

// checkFormerImage refuses an image that nothing would use.
func (o *restoreFlags) checkFormerImage(e engine.Engine, from, to string) error {
	if o.formerImage != "" && !engine.Converts(e, from, to) {
		return exit.Misuse("--former-image is for a backup that is converted, and one of %s %s is not for %s", e.Name(), from,
			to)
	}
	return ops.CheckImage("--former-image", o.formerImage)
}

// restoreNew creates a cluster with one member that holds the backup; it
// grows to its size from there.
func restoreNew(ctx context.Context, f *command.Factory, flags *restoreFlags, name, url string,
	m repository.Manifest, e engine.Engine) (command.Intent, error) {
	namespace, err := f.Namespace()
	if err != nil {
		return command.Intent{}, err
	}
	same := flags.Engine == "" || flags.Engine == m.Engine
	if same {
		flags.Engine = m.Engine
	} else if e, err = f.EngineNamed(flags.Engine); err != nil {
		return command.Intent{}, err
	}
	if flags.Version == "" && same {
		flags.Version = m.Version
		if near, err := engine.Nearest(e, m.Version); err == nil && flags.Image == "" {
			flags.Version = near.Version
		}
	}
	if flags.Members == 0 {
		flags.Members = max(1,
			int32(min(len(m.Facts.Members), e.Capabilities().MaxMembers))) // #nosec G115 -- a cluster's size fits
	}
	cluster, err := flags.Cluster(f, namespace, name)
	if err != nil {
		return command.Intent{}, err
	}
	if err := engine.CheckLoad(e, m.Engine, m.Version, cluster.Spec.Version); err != nil {
		return command.Intent{}, err
	}
	if err := flags.checkFormerImage(e, m.Version, cluster.Spec.Version); err != nil {
		return command.Intent{}, err
	}
	cluster.Spec.RestoreFrom = &v1alpha1.RestoreSource{Repository: url, Backup: m.ID, KeepRevision: flags.keepRevision,
		RootSecret: flags.rootSecret, Target: flags.target,
		FormerImage: flags.formerImage}
	cluster.Spec.Auth.Enabled = m.Facts.Auth
	if err := policy.Found(e, cluster, f.Random); err != nil {
		return command.Intent{}, err
	}
	spec := f.Operation(ctx, v1alpha1.VerbRestore, name)
	spec.Members, spec.Version, spec.KeepRevision = cluster.Spec.Members, cluster.Spec.Version, flags.keepRevision
	spec.Source = flags.source(url, m)
	spec.Waive = command.Waived(map[string]bool{"size": flags.Force})
	return command.Intent{Namespace: namespace, Engine: e, Request: planner.Request{Operation: spec, Cluster: cluster},
		Subject: e.Name() + "/" + name, Verbed: "restored from " + m.ID, Next: command.DisplayName + " status " + name}, nil
}

// restoreInPlace restores an existing cluster from the backup.
func restoreInPlace(ctx context.Context, f *command.Factory, cmd *cobra.Command, flags *restoreFlags,
	name, url string, m repository.Manifest) (command.Intent, error) {
	for _, flag := range []string{"engine", "members", "version", "storage", "storage-class", "image", "no-tls",
		"config"} {
		if cmd.Flags().Changed(flag) {
			return command.Intent{},
				exit.Misuse("--%s and --in-place exclude each other: the cluster stays as it is, with other data", flag)
		}
	}
	t, err := f.Target(ctx, []string{name})
	if err != nil {
		return command.Intent{}, err
	}
	if t.Cluster.Spec.Engine != m.Engine {
		return command.Intent{},
			&engine.Refusal{Check: "engine",
				Reason: fmt.Sprintf("backup %s is of %s, cluster %s is %s", m.ID, m.Engine, name, t.Cluster.Spec.Engine),
				Hint:   command.DisplayName + " backup list " + name}
	}
	if err := t.Engine.CheckRestore(m.Version, t.Cluster.Spec.Version); err != nil {
		return command.Intent{}, err
	}
	if err := flags.checkFormerImage(t.Engine, m.Version, t.Cluster.Spec.Version); err != nil {
		return command.Intent{}, err
	}
	spec := f.Operation(ctx, v1alpha1.VerbRestore, name)
	spec.InPlace, spec.KeepRevision = true, flags.keepRevision
	spec.Source = flags.source(url, m)
	spec.Waive = command.Waived(map[string]bool{"backup": flags.skipBackup})
	if err := f.BackupTo(&spec, flags.repo, t.Cluster); err != nil {
		return command.Intent{}, err
	}
	return command.Intent{Namespace: t.Namespace, Engine: t.Engine, Request: planner.Request{Operation: spec},
		Subject: t.Subject(), Verbed: "restored from " + m.ID, Next: command.DisplayName + " status " + name,
		Ask: func(p *planner.Prepared) (command.Question, error) {
			q := command.Question{What: "Restore " + name + " in place from " + m.ID, Typed: name, Cluster: p.State.Cluster,
				Kept: []string{"the old volumes"}, Lost: []string{flags.lost(f, m)}}
			if t.Cluster.Spec.Auth.Enabled && t.Cluster.Spec.TLS.Disabled {
				q.Lost = append(q.Lost, "the logins of clients, which must connect again")
			}
			if flags.skipBackup {
				return q, nil
			}
			q.Kept = append(q.Kept, "a safety backup, in "+spec.Repository)
			return q, nil
		}}, nil
}
