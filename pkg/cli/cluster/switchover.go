package cluster

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
)

// NewSwitchover makes the command switchover.
func NewSwitchover(f *command.Factory) *cobra.Command {
	return command.NewSimple(f, command.Simple{
		Verb: v1alpha1.VerbSwitchover, Verbed: "switched over", Target: "to",
		TargetUsage: "Member to lead; by default the fittest.",
		Use:         "switchover [NAME] [--to MEMBER]", Short: "Move leadership to another member",
		Long: `Move leadership to another member, while both are healthy. Writes pause for the length of an election.`,
		Example: `  # Let another member lead
  kubectl dbop switchover my-db

  # Let the second member lead
  kubectl dbop switchover my-db --to my-db-2`})
}
