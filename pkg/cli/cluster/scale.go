package cluster

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// NewScale makes the command scale.
func NewScale(f *command.Factory) *cobra.Command {
	c := command.NewChange(f)
	var members int32
	var force bool
	cmd := &cobra.Command{
		Use:   "scale [NAME] --members N",
		Short: "Change the number of members",
		Long: `Change the number of members, one member after another. The followers leave before the leader does;
the volume of a member that leaves is dropped.`,
		Example: `  # Grow my-db to five members
  kubectl dbop scale my-db --members 5`,
		Args:              command.Arguments(0, 1, "NAME"),
		ValidArgsFunction: command.CompleteClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("members") {
				return exit.Misuse("--members is required")
			}
			t, in, err := c.Begin(cmd.Context(), v1alpha1.VerbScale, args)
			if err != nil {
				return err
			}
			in.Request.Operation.Members = members
			in.Request.Operation.Waive = command.Waived(map[string]bool{"size": force})
			in.Verbed = "scaled"
			if members < t.Cluster.Spec.Members {
				in.Ask = func(p *planner.Prepared) (command.Question, error) {
					return command.Question{
						What:    fmt.Sprintf("Shrink %s from %d to %d members", t.Cluster.Name, t.Cluster.Spec.Members, members),
						Lost:    []string{"the volumes of the members that leave"},
						Kept:    []string{"the copies of the others"},
						Cluster: p.State.Cluster}, nil
				}
			}
			return c.Run(cmd.Context(), in)
		},
	}
	c.AddTo(cmd, command.ShortTimeout, true)
	cmd.Flags().Int32Var(&members, "members", 0, "Wanted number of members.")
	cmd.Flags().BoolVar(&force, "force", false, "Accept a number of members that adds cost but no safety.")
	return cmd
}
