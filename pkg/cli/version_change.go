package cli

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// newVersionChange completes a command that moves a cluster to another
// version. On the way down one that the catalog does not know, perhaps not any
// more, is left to the rules: they say why there is no way to it.
func newVersionChange(f *Factory, m mode, verb v1alpha1.Verb, verbed string, cmd *cobra.Command) *cobra.Command {
	c := newChange(f, m)
	var version, repo, image string
	var skipBackup, allowDowntime bool
	cmd.Args, cmd.ValidArgsFunction = arguments(0, 1, "NAME"), completeClusters(f)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if version == "" {
			return misuse("--version is required")
		}
		t, in, err := c.begin(cmd.Context(), verb, args)
		if err != nil {
			return err
		}
		spec := &in.request.Operation
		spec.Version, spec.Image = version, image
		switch release, err := t.engine.Catalog().Resolve(version); {
		case err == nil:
			spec.Version = release.Version
		case verb == v1alpha1.VerbUpgrade:
			return err
		}
		if err := f.backupTo(spec, repo, t.cluster); err != nil {
			return err
		}
		spec.Waive = waived(map[string]bool{"backup": skipBackup, "downtime": allowDowntime})
		in.verbed = verbed + " to " + spec.Version
		return c.run(cmd.Context(), in)
	}
	c.addTo(cmd, longTimeout, false)
	cmd.Flags().StringVar(&version, "version", "", "Version to move to, such as 3.6 (its newest patch) or 3.6.16.")
	cmd.Flags().StringVar(&image, "image", "", "Image of that version, instead of the catalog's; needed where the cluster runs an image of your own.")
	addRepositoryFlag(cmd, &repo, "the safety backup")
	cmd.Flags().BoolVar(&skipBackup, "skip-backup", false, "Don't take a safety backup first.")
	cmd.Flags().BoolVar(&allowDowntime, "allow-downtime", false, "Accept that a cluster of one member is down while it restarts.")
	completeNewVersions(f, cmd, verb)
	return cmd
}
