package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

func newScale(f *Factory, m mode) *cobra.Command {
	c := newChange(f, m)
	var members int32
	var force bool
	cmd := &cobra.Command{
		Use:   "scale [NAME] --members N",
		Short: "Change the number of members",
		Long: `Change the number of members, one member after another. The followers leave before the leader does;
the volume of a member that leaves is dropped.`,
		Example: `  # Grow my-db to five members
  kubectl dbop scale my-db --members 5`,
		Args:              arguments(0, 1, "NAME"),
		ValidArgsFunction: completeClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("members") {
				return misuse("--members is required")
			}
			t, in, err := c.begin(cmd.Context(), v1alpha1.VerbScale, args)
			if err != nil {
				return err
			}
			in.request.Operation.Members = members
			in.request.Operation.Waive = waived(map[string]bool{"size": force})
			in.verbed = "scaled"
			if members < t.cluster.Spec.Members {
				in.ask = func(p *planner.Prepared) (question, error) {
					return question{what: fmt.Sprintf("Shrink %s from %d to %d members", t.cluster.Name, t.cluster.Spec.Members, members),
						lost:    []string{"the volumes of the members that leave"},
						kept:    []string{"the copies of the others"},
						cluster: p.State.Cluster}, nil
				}
			}
			return c.run(cmd.Context(), in)
		},
	}
	c.addTo(cmd, shortTimeout, true)
	cmd.Flags().Int32Var(&members, "members", 0, "Wanted number of members.")
	cmd.Flags().BoolVar(&force, "force", false, "Accept a number of members that adds cost but no safety.")
	return cmd
}
