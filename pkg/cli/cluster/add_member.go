package cluster

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
)

// NewAddMember makes the command under one of its two names: the word that people
// type first, and the one beside its siblings.
func NewAddMember(f *command.Factory, name string) *cobra.Command {
	c := command.NewChange(f)
	cmd := &cobra.Command{
		Use:   name + " [NAME]",
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
	if name == "add" {
		cmd.Example = strings.ReplaceAll(cmd.Example, "add-member", "member add")
	}
	c.AddTo(cmd, command.ShortTimeout, false)
	return cmd
}
