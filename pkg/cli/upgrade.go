package cli

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

func newUpgrade(f *Factory, m mode) *cobra.Command {
	c := newChange(f, m)
	var version, repo, image string
	var skipBackup, allowDowntime bool
	cmd := &cobra.Command{
		Use:   "upgrade [NAME] --version VERSION",
		Short: "Move a cluster to another version",
		Long: `Move a cluster to another version, member by member: a verified backup first, then followers, the leader
last after it handed over. Between two members the whole cluster must be healthy.`,
		Example: `  # Upgrade the only cluster of the namespace
  kubectl dbop upgrade --version 3.6

  # Upgrade my-db and keep the safety backup on a volume
  kubectl dbop upgrade my-db --version 3.6 --repository pvc:backups`,
		Args:              arguments(0, 1, "NAME"),
		ValidArgsFunction: completeClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.check(); err != nil {
				return err
			}
			if version == "" {
				return misuse("--version is required")
			}
			t, err := f.target(cmd.Context(), args)
			if err != nil {
				return err
			}
			release, err := t.engine.Catalog().Resolve(version)
			if err != nil {
				return err
			}
			spec := f.operation(cmd.Context(), v1alpha1.VerbUpgrade, t.cluster.Name)
			spec.Version, spec.Image = release.Version, image
			if err := f.backupTo(&spec, repo, t.cluster); err != nil {
				return err
			}
			spec.Waive = waived(map[string]bool{"backup": skipBackup, "downtime": allowDowntime})
			return c.run(cmd.Context(), intent{namespace: t.namespace, engine: t.engine, request: ops.Request{Operation: spec},
				subject: t.subject(), verbed: "upgraded to " + release.Version, next: displayName + " status " + t.cluster.Name})
		},
	}
	c.addTo(cmd, longTimeout, false)
	cmd.Flags().StringVar(&version, "version", "", "Version to move to, such as 3.6 (its newest patch) or 3.6.16.")
	cmd.Flags().StringVar(&image, "image", "", "Image of that version, instead of the catalog's; needed where the cluster runs an image of your own.")
	addRepositoryFlag(cmd, &repo, "the safety backup")
	cmd.Flags().BoolVar(&skipBackup, "skip-backup", false, "Don't take a safety backup first.")
	cmd.Flags().BoolVar(&allowDowntime, "allow-downtime", false, "Accept that a cluster of one member is down while it restarts.")
	completeEngineVersions(f, cmd, func() string { return "" })
	return cmd
}
