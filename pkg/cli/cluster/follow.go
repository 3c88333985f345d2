package cluster

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

// NewFollow makes the command follow.
func NewFollow(f *command.Factory) *cobra.Command {
	c := command.NewChange(f)
	var other string
	cmd := &cobra.Command{
		Use: "follow [NAME] --cluster OTHER", Short: "Follow the cluster that took the place of this one",
		Long: `Follow the cluster that took the place of this one by 'cutover --way-back'.

What is written there comes here, without a copy of what was here before. No
client is let in meanwhile. 'kubectl dbop cutover' of this cluster then goes
back, with all that was written. 'kubectl dbop upgrade --online' does this by
itself.`,
		Example: `  # Keep the way back open, as my-db-v18 took the place of my-db
  kubectl dbop follow my-db --cluster my-db-v18`,
		Args:              command.Arguments(0, 1, "NAME"),
		ValidArgsFunction: command.CompleteClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if other == "" {
				return exit.Misuse("--cluster is required")
			}
			_, in, err := c.Begin(cmd.Context(), v1alpha1.VerbFollow, args)
			if err != nil {
				return err
			}
			in.Request.Operation.Follow, in.Verbed = other, "follows "+other
			return c.Run(cmd.Context(), in)
		},
	}
	c.AddTo(cmd, command.ShortTimeout, false)
	cmd.Flags().StringVar(&other, "cluster", "", "Cluster of the namespace that took over.")
	return cmd
}
