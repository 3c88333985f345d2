package cluster

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// NewFailover makes the command failover.
func NewFailover(f *command.Factory) *cobra.Command {
	return command.NewSimple(f, command.Simple{
		Verb: v1alpha1.VerbFailover, Verbed: "failed over", Target: "to",
		TargetUsage: "Member to lead; by default the one that holds the most.",
		Ask:         failoverQuestion,
		Use:         "failover [NAME] [--to MEMBER]", Short: "Appoint a leader where acknowledged writes may be lost",
		Long: `Appoint a leader where acknowledged writes may be lost.

Members appoint a leader by themselves as long as no acknowledged write is lost
with it, or no more than the cluster's settings allow. Otherwise they wait for
those that may hold more to come back. This command is for when they never will.
The plan says what is lost. Engines that elect a leader themselves, such as
etcd, don't have it.`,
		Example: `  # Let the member lead that holds the most
  kubectl dbop failover my-db

  # Let my-db-2 lead, whatever it lacks
  kubectl dbop failover my-db --to my-db-2`})
}

// failoverQuestion says what is lost.
func failoverQuestion(p *planner.Prepared) (command.Question, error) {
	o := p.Request.Operation
	return command.Question{What: "Have " + o.Member + " lead " + o.Cluster, Cluster: p.State.Cluster, Lost: o.Evidence,
		Kept: []string{"the volumes of the other members"}}, nil
}
