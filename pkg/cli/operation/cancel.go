package operation

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
)

func NewCancel(f *command.Factory) *cobra.Command {
	return newContinuation(f, true, &cobra.Command{
		Use:   "cancel [NAME]",
		Short: "Step back from the operation in flight",
		Long: `Step back from the operation in flight to what was wanted before: abort it, as others call this. What has no way back any more is refused,
and can only be finished: 'kubectl dbop resume'.`,
		Example: `  # Give up growing my-db
  kubectl dbop cancel my-db`,
	})
}
