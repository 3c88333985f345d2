package cluster

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// NewStop makes the command stop.
func NewStop(f *command.Factory) *cobra.Command {
	return command.NewSimple(f, command.Simple{
		Verb: v1alpha1.VerbStop, Verbed: "stopped",
		Use: "stop [NAME]", Short: "Stop all members and keep their volumes",
		Long: `Stop all members and keep their volumes, certificates and identities. Nothing answers until the cluster is
started again.`,
		Example: `  # Stop my-db for the weekend
  kubectl dbop stop my-db`,
		Ask: func(p *planner.Prepared) (command.Question, error) {
			return command.Question{What: "Stop cluster " + p.Request.Operation.Cluster, Cluster: p.State.Cluster,
				Lost: []string{"every connection, until it is started again"}, Kept: []string{"all volumes"}}, nil
		}})
}
