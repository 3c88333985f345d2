package operation

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
)

// NewCancel makes the command cancel.
func NewCancel(f *command.Factory) *cobra.Command {
	return newContinuation(f, true, &cobra.Command{
		Use:   "cancel [NAME]",
		Short: "Cancel the operation in flight",
		Long: `Cancel the operation in flight, to what was wanted before. What has no way back is refused, and can
only be finished: 'kubectl dbop resume'.`,
		Example: `  # Give up growing my-db
  kubectl dbop cancel my-db`,
	})
}
