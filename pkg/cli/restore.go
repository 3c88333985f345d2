package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/policy"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// restoreFlags are those that only restore has.
type restoreFlags struct {
	clusterFlags
	from, file, repo, rootSecret      string
	inPlace, keepRevision, skipBackup bool
}

func newRestore(f *Factory, m mode) *cobra.Command {
	c := newChange(f, m)
	flags := &restoreFlags{}
	cmd := &cobra.Command{
		Use:   "restore NAME (--from ID | --from-file FILE)",
		Short: "Restore a backup into a new cluster, or in place",
		Long: `Restore a backup into a new cluster, or with --in-place over a cluster that exists: a safety backup first,
the old volumes are kept. Revisions are bumped and marked compacted, so that no watcher sees time go back.

A snapshot file that the database's own client saved, as with 'etcdctl snapshot save', is checked, imported into the
repository as a backup, and restored into a new cluster. A file that the repository holds already is not imported again.`,
		Example: `  # Restore a backup into a new cluster
  kubectl dbop restore my-copy --from my-db-20261121T101500Z-0a1b

  # Put my-db back to a backup
  kubectl dbop restore my-db --in-place --from my-db-20261121T101500Z-0a1b

  # Restore a snapshot file of etcdctl into a new cluster
  kubectl dbop restore my-db --from-file snapshot.db`,
		Args:              arguments(1, 1, "the NAME of the cluster"),
		ValidArgsFunction: completeClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.check(); err != nil {
				return err
			}
			switch {
			case flags.from != "" && flags.file != "":
				return misuse("--from and --from-file exclude each other")
			case flags.file != "" && flags.inPlace:
				return misuse("--from-file and --in-place exclude each other: a file is restored into a new cluster")
			case flags.from == "" && flags.file == "":
				return &usageError{text: "--from or --from-file is required", hint: displayName + " backup list"}
			}
			if err := checkName(args[0]); err != nil {
				return err
			}
			if flags.file != "" {
				return restoreFile(cmd.Context(), f, c, flags, args[0])
			}
			in, err := restoreIntent(cmd.Context(), f, cmd, flags, args[0])
			if err != nil {
				return err
			}
			return c.run(cmd.Context(), in)
		},
	}
	c.addTo(cmd, longTimeout, true)
	cmd.Flags().StringVar(&flags.from, "from", "", "Identifier of the backup, see 'kubectl dbop backup list'.")
	cmd.Flags().StringVar(&flags.file, "from-file", "", "Snapshot file of the database's own client, such as one of 'etcdctl snapshot save'.")
	addRepositoryFlag(cmd, &flags.repo, "the backup")
	cmd.Flags().BoolVar(&flags.inPlace, "in-place", false, "Restore over the existing cluster of that name.")
	cmd.Flags().BoolVar(&flags.keepRevision, "keep-revision", false, "Keep the revision of the backup instead of bumping it.")
	cmd.Flags().BoolVar(&flags.skipBackup, "skip-backup", false, "With --in-place: don't take a safety backup first.")
	cmd.Flags().StringVar(&flags.rootSecret, "root-password-secret", "", "Secret with the administrator's password of the time of the backup, for backups that demand one and clusters without TLS.")
	cmd.Flags().Int32Var(&flags.members, "members", 0, "Number of members; as many as the backup lists if not set.")
	flags.addTo(f, cmd)
	_ = cmd.RegisterFlagCompletionFunc("from", completeBackups(f, &flags.repo))
	return cmd
}

func restoreIntent(ctx context.Context, f *Factory, cmd *cobra.Command, flags *restoreFlags,
	name string) (intent, error) {
	r, m, err := f.findBackup(ctx, flags.repo, flags.from, flags.helper)
	if err != nil {
		return intent{}, err
	}
	url := r.URL()
	e, err := f.engineNamed(m.Engine)
	if err == nil {
		err = planner.WholeBackup(ctx, r, m, e)
	}
	if err := errors.Join(err, r.Close()); err != nil {
		return intent{}, err
	}
	if flags.inPlace {
		return restoreInPlace(ctx, f, cmd, flags, name, url, m)
	}
	return restoreNew(ctx, f, flags, name, url, m, e)
}

// restoreNew founds a new cluster with one member that holds the backup; it
// grows to its size from there.
func restoreNew(ctx context.Context, f *Factory, flags *restoreFlags, name, url string,
	m repository.Manifest, e engine.Engine) (intent, error) {
	namespace, err := f.namespace()
	if err != nil {
		return intent{}, err
	}
	flags.engine = m.Engine
	if flags.version == "" {
		flags.version = m.Version
		if near, err := e.Catalog().Nearest(m.Version); err == nil && flags.image == "" {
			flags.version = near.Version
		}
	}
	if flags.members == 0 {
		flags.members = max(1, int32(min(len(m.Facts.Members), e.Capabilities().MaxMembers))) // #nosec G115 -- a cluster's size fits
	}
	cluster, err := flags.cluster(f, namespace, name)
	if err != nil {
		return intent{}, err
	}
	if err := e.CheckRestore(m.Version, cluster.Spec.Version); err != nil {
		return intent{}, err
	}
	cluster.Spec.RestoreFrom = &v1alpha1.RestoreSource{Repository: url, Backup: m.ID, KeepRevision: flags.keepRevision, RootSecret: flags.rootSecret}
	cluster.Spec.Auth.Enabled = m.Facts.Auth
	if err := policy.Found(cluster, f.Random); err != nil {
		return intent{}, err
	}
	spec := f.operation(ctx, v1alpha1.VerbRestore, name)
	spec.Members, spec.Version, spec.KeepRevision = cluster.Spec.Members, cluster.Spec.Version, flags.keepRevision
	spec.Source = &v1alpha1.BackupSource{Repository: url, Backup: m.ID, Auth: m.Facts.Auth, RootSecret: flags.rootSecret}
	spec.Waive = waived(map[string]bool{"size": flags.force})
	return intent{namespace: namespace, engine: e, request: planner.Request{Operation: spec, Cluster: cluster},
		subject: e.Name() + "/" + name, verbed: "restored from " + m.ID, next: displayName + " status " + name}, nil
}

// restoreInPlace begins an existing cluster anew from the backup.
func restoreInPlace(ctx context.Context, f *Factory, cmd *cobra.Command, flags *restoreFlags,
	name, url string, m repository.Manifest) (intent, error) {
	for _, flag := range []string{"members", "version", "storage", "storage-class", "image", "no-tls", "config"} {
		if cmd.Flags().Changed(flag) {
			return intent{}, misuse("--%s and --in-place exclude each other: the cluster stays as it is, with other data", flag)
		}
	}
	t, err := f.target(ctx, []string{name})
	if err != nil {
		return intent{}, err
	}
	if t.cluster.Spec.Engine != m.Engine {
		return intent{}, &engine.Refusal{Check: "engine", Reason: fmt.Sprintf("backup %s is of %s, cluster %s is %s", m.ID, m.Engine, name, t.cluster.Spec.Engine),
			Hint: displayName + " backup list " + name}
	}
	if err := t.engine.CheckRestore(m.Version, t.cluster.Spec.Version); err != nil {
		return intent{}, err
	}
	spec := f.operation(ctx, v1alpha1.VerbRestore, name)
	spec.InPlace, spec.KeepRevision = true, flags.keepRevision
	spec.Source = &v1alpha1.BackupSource{Repository: url, Backup: m.ID, Auth: m.Facts.Auth, RootSecret: flags.rootSecret}
	spec.Waive = waived(map[string]bool{"backup": flags.skipBackup})
	if err := f.backupTo(&spec, flags.repo, t.cluster); err != nil {
		return intent{}, err
	}
	return intent{namespace: t.namespace, engine: t.engine, request: planner.Request{Operation: spec},
		subject: t.subject(), verbed: "restored from " + m.ID, next: displayName + " status " + name,
		ask: func(p *planner.Prepared) (question, error) {
			q := question{what: "Restore " + name + " in place from " + m.ID, typed: name, cluster: p.State.Cluster,
				kept: []string{"the old volumes"},
				lost: []string{fmt.Sprintf("everything written since %s (%s ago)", m.FinishedAt.UTC().Format("2006-01-02 15:04:05Z"), f.age(m.FinishedAt))}}
			if t.cluster.Spec.Auth.Enabled && t.cluster.Spec.TLS.Disabled {
				q.lost = append(q.lost, "the logins of clients, which must connect anew")
			}
			if flags.skipBackup {
				return q, nil
			}
			q.kept = append(q.kept, "a safety backup, in "+spec.Repository)
			return q, nil
		}}, nil
}
