package cluster

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// newVersionChange completes a command that moves a cluster to another
// version. On the way down one that the catalog does not know, perhaps not any
// more, is left to the rules: they say why there is no way to it.
func newVersionChange(f *command.Factory, verb v1alpha1.Verb, verbed string, cmd *cobra.Command) *cobra.Command {
	c := command.NewChange(f)
	var version, repo, image string
	var skipBackup, allowDowntime, link bool
	second := &onlineUpgrade{change: c}
	cmd.Args, cmd.ValidArgsFunction = command.Arguments(0, 1, "NAME"), command.CompleteClusters(f)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := second.check(version); err != nil {
			return err
		}
		if second.online && link {
			return exit.Misuse("--online and --link exclude each other: the second cluster has volumes of its own")
		}
		if second.online {
			second.image, second.allowDowntime = image, allowDowntime
			return second.start(cmd.Context(), args, version)
		}
		t, in, err := c.Begin(cmd.Context(), verb, args)
		if err != nil {
			return err
		}
		spec := &in.Request.Operation
		spec.Version, spec.Image = version, image
		switch release, err := t.Engine.Catalog().Resolve(version); {
		case err == nil:
			spec.Version = release.Version
		case verb == v1alpha1.VerbUpgrade:
			return err
		}
		if err := f.BackupTo(spec, repo, t.Cluster); err != nil {
			return err
		}
		spec.Waive = command.Waived(map[string]bool{"backup": skipBackup, "downtime": allowDowntime,
			ops.WaiverWayBack: link})
		in.Verbed = verbed + " to " + spec.Version
		return c.Run(cmd.Context(), in)
	}
	c.AddTo(cmd, command.StreamTimeout, verb == v1alpha1.VerbUpgrade)
	cmd.Flags().StringVar(&version, "version", "", "Version to move to, such as 3.6 (its newest patch) or 3.6.16.")
	cmd.Flags().StringVar(&image, "image", "",
		"Image of that version, instead of the catalog's; needed where the cluster runs an image of your own.")
	command.AddRepositoryFlag(cmd, &repo, "the safety backup")
	cmd.Flags().BoolVar(&skipBackup, "skip-backup", false, "Don't take a safety backup first.")
	down := "Accept that a cluster of one member is down while it restarts."
	if verb == v1alpha1.VerbUpgrade {
		second.define(cmd)
		cmd.Flags().BoolVar(&link, "link", false, "Convert data of another major version on the volume of its member, "+
			"without a copy: it takes less time, and from the first start of the new version there is no way back.")
		down = "Accept that the cluster is down: with one member while it restarts, with any number while data is converted."
	}
	cmd.Flags().BoolVar(&allowDowntime, "allow-downtime", false, down)
	command.CompleteNewVersions(f, cmd, verb)
	return cmd
}
