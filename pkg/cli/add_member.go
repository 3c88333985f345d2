package cli

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

func newAddMember(f *Factory, m mode) *cobra.Command {
	c := newChange(f, m)
	cmd := &cobra.Command{
		Use:   "add-member [NAME]",
		Short: "Add one member to a cluster",
		Long: `Add one member to a cluster. Where the database knows learners, the new member joins without a vote and
gets it once it has caught up, so a start that fails costs nothing.`,
		Example: `  # Add one member to the only cluster of the namespace
  kubectl dbop add-member

  # See what adding a member to my-db would do
  kubectl dbop add-member my-db --dry-run=client`,
		Args:              arguments(0, 1, "NAME"),
		ValidArgsFunction: completeClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, in, err := c.begin(cmd.Context(), v1alpha1.VerbAddMember, args)
			if err != nil {
				return err
			}
			in.verbed = "grown"
			return c.run(cmd.Context(), in)
		},
	}
	c.addTo(cmd, shortTimeout, false)
	return cmd
}
