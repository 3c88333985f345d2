package cluster

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// NewCutover makes the command cutover.
func NewCutover(f *command.Factory) *cobra.Command {
	c := command.NewChange(f)
	var stopped bool
	var asked v1alpha1.CutoverParameters
	cmd := &cobra.Command{
		Use: "cutover [NAME]", Short: "Take writes in the place of the server that a cluster follows",
		Long: `Take writes in the place of the server that a cluster follows, see --from-primary of create.

The server is asked to pause writes. Once it is proved that the cluster holds
all of them, the cluster follows it no more, and takes writes. So that no client
writes to the server by mistake, Redis and Valkey go on to refuse writes for an
hour, and PostgreSQL lets nobody into the databases until somebody opens them:
send the clients to the cluster. If the user of a Redis or Valkey may not pause
writes, stop all writers yourself and add --writers-stopped.`,
		Example: `  # Take over; the server pauses writes
  kubectl dbop cutover my-db

  # Take over; all that wrote to the server was stopped before
  kubectl dbop cutover my-db --writers-stopped`,
		Args:              command.Arguments(0, 1, "NAME"),
		ValidArgsFunction: command.CompleteClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, in, err := c.Begin(cmd.Context(), v1alpha1.VerbCutover, args)
			if err != nil {
				return err
			}
			in.Request.Operation.Waive = command.Waived(map[string]bool{engine.CheckWriters: stopped})
			in.Request.Operation.CutoverParameters, in.Verbed = asked, "takes writes"
			if asked.Finish {
				in.Verbed = "has given up the way back"
			}
			in.Settled = func(in *command.Intent, o *v1alpha1.Operation) {
				if text := o.Status.Facts[v1alpha1.FactCutOver]; text != "" {
					in.Verbed += " (" + text + ")"
				}
			}
			return c.Run(cmd.Context(), in)
		},
	}
	c.AddTo(cmd, command.ShortTimeout, false)
	cmd.Flags().BoolVar(&stopped, "writers-stopped", false,
		"All that writes to the server was stopped: see that it is so, and don't ask the server to pause writes.")
	cmd.Flags().BoolVar(&asked.WayBack, "way-back", false,
		"Prepare that the source, a cluster of this tool, follows this one from then on: see 'kubectl dbop follow'.")
	cmd.Flags().BoolVar(&asked.Finish, "finish", false, "Give up the way back that a cut over prepared.")
	return cmd
}
