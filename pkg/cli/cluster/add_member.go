package cluster

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
)

func NewAddMember(f *command.Factory, m command.Mode) *cobra.Command {
	c := command.NewChange(f, m)
	cmd := &cobra.Command{
		Use:   "add-member [NAME]",
		Short: "Add one member to a cluster",
		Long: `Add one member to a cluster. Where the database knows learners, the new member joins without a vote and
gets it once it has caught up, so a start that fails costs nothing.`,
		Example: `  # Add one member to the only cluster of the namespace
  kubectl dbop add-member

  # See what adding a member to my-db would do
  kubectl dbop add-member my-db --dry-run=client`,
		Args:              command.Arguments(0, 1, "NAME"),
		ValidArgsFunction: command.CompleteClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, in, err := c.Begin(cmd.Context(), v1alpha1.VerbAddMember, args)
			if err != nil {
				return err
			}
			in.Verbed = "grown"
			return c.Run(cmd.Context(), in)
		},
	}
	c.AddTo(cmd, command.ShortTimeout, false)
	return cmd
}
