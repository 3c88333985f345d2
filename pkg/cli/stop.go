package cli

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

func newStop(f *Factory, m mode) *cobra.Command {
	return newSimple(f, m, simple{
		verb: v1alpha1.VerbStop, verbed: "stopped",
		use: "stop [NAME]", short: "Stop all members and keep their volumes",
		long: `Stop all members and keep their volumes, certificates and identities. Nothing answers until the cluster is
started again.`,
		example: `  # Stop my-db for the weekend
  kubectl dbop stop my-db`,
		ask: func(p *planner.Prepared) (question, error) {
			return question{what: "Stop cluster " + p.Request.Operation.Cluster, cluster: p.State.Cluster,
				lost: []string{"every connection, until it is started again"}, kept: []string{"all volumes"}}, nil
		}})
}
