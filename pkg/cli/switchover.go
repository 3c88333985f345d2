package cli

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

func newSwitchover(f *Factory, m mode) *cobra.Command {
	return newSimple(f, m, simple{
		verb: v1alpha1.VerbSwitchover, verbed: "switched over", target: "to", targetUsage: "Member to lead; by default the fittest.",
		use: "switchover [NAME] [--to MEMBER]", short: "Move leadership to another member",
		long: `Move leadership to another member, while both are healthy. Writes pause for the length of an election.`,
		example: `  # Let another member lead
  kubectl dbop switchover my-db

  # Let the second member lead
  kubectl dbop switchover my-db --to my-db-2`})
}
