package cluster

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
)

// NewMember holds the commands about single members.
func NewMember(f *command.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "member COMMAND",
		Short: "Add, remove and replace members",
		Long:  "Add, remove and replace single members of a cluster. 'kubectl dbop scale' sets their number.",
		Example: `  # Replace a member whose disk is lost
  kubectl dbop member replace my-db my-db-3`,
		Args: cobra.ArbitraryArgs,
		RunE: command.ParentOnly,
	}
	cmd.AddCommand(NewAddMember(f, "add"), newRemoveMember(f), newReplaceMember(f))
	return cmd
}
