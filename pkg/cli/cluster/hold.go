package cluster

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

// mostHeld is the longest hold that the members agree on.
const mostHeld = 30 * 24 * time.Hour

// NewHold makes the command hold.
func NewHold(f *command.Factory) *cobra.Command {
	c := command.NewChange(f)
	var asked v1alpha1.HoldParameters
	cmd := &cobra.Command{
		Use: "hold [NAME] [--for TIME] [--because TEXT] | --end", Short: "Have no other member lead for a while",
		Long: `Have no other member lead for a while.

For work during which the leader is away for a moment and comes back, such as
work on the network. If the leader is lost meanwhile, nobody takes writes until
it is back, or the hold ends. A switchover is refused, and so is a restart of the
leader that begins with one. The members themselves end a hold when its time is
over. Engines that elect a leader themselves, such as etcd, don't have it.`,
		Example: `  # No failover for an hour
  kubectl dbop hold my-db --for 1h --because "the switches are replaced"

  # Let every member lead again
  kubectl dbop hold my-db --end`,
		Args:              command.Arguments(0, 1, "NAME"),
		ValidArgsFunction: command.CompleteClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch length := asked.HoldFor.Duration; {
			case asked.HoldEnd && (length != 0 || asked.HoldWhy != ""):
				return exit.Misuse("--end takes neither --for nor --because")
			case length < 0 || length > mostHeld:
				return exit.Misuse("--for must be between 0 and %s", mostHeld)
			}
			_, in, err := c.Begin(cmd.Context(), v1alpha1.VerbHold, args)
			if err != nil {
				return err
			}
			in.Request.Operation.HoldParameters, in.Verbed = asked, "fails over to no other member"
			if asked.HoldEnd {
				in.Verbed = "fails over again"
			}
			return c.Run(cmd.Context(), in)
		},
	}
	c.AddTo(cmd, command.ShortTimeout, false)
	cmd.Flags().DurationVar(&asked.HoldFor.Duration, "for", 0, "How long; 0 is until somebody ends it.")
	cmd.Flags().StringVar(&asked.HoldWhy, "because", "", "Reason, which status shows.")
	cmd.Flags().BoolVar(&asked.HoldEnd, "end", false, "End it.")
	return cmd
}
