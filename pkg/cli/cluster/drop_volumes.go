package cluster

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// NewDropVolumes makes the command drop-volumes.
func NewDropVolumes(f *command.Factory) *cobra.Command {
	return command.NewSimple(f, command.Simple{
		Verb: v1alpha1.VerbDropVolumes, Verbed: "has no volumes from before any more",
		Use: "drop-volumes [NAME]", Short: "Drop the volumes that a restore in place kept",
		Long: `Drop the volumes that a restore in place, or what took it back, kept. So do a recovery and an upgrade that
converts the data. What the cluster runs on is not touched. Afterwards 'kubectl dbop undo' can't go back to them.`,
		Example: `  # Drop the volumes of my-db from before a restore
  kubectl dbop drop-volumes my-db

  # See first which volumes would go
  kubectl dbop drop-volumes my-db --dry-run=client`,
		Ask: func(p *planner.Prepared) (command.Question, error) {
			name := p.Request.Operation.Cluster
			q := command.Question{What: "Drop the kept volumes of " + name, Typed: name, Cluster: p.State.Cluster,
				Kept: []string{"the volumes that it runs on"}}
			for _, m := range operation.KeptMembers(p.State) {
				q.Lost = append(q.Lost, "persistentvolumeclaim/"+v1alpha1.VolumeName(m)+", for good")
			}
			return q, nil
		}})
}
