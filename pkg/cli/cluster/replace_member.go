package cluster

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

func newReplaceMember(f *command.Factory) *cobra.Command {
	c := command.NewChange(f)
	var force bool
	cmd := &cobra.Command{
		Use:   "replace NAME MEMBER",
		Short: "Replace a member whose data is lost",
		Long: `Replace a member whose volume or node is lost, or whose data is corrupt: it is removed from the database's
member list, its volume is dropped, and a member of the same name joins. A member that is merely starting,
evicted or out of memory is not replaced, and neither is a healthy one, or one on a node that is silent and may
come back: if it never will, kubectl delete node says so to Kubernetes.`,
		Example: `  # Replace the third member of my-db after its disk died
  kubectl dbop member replace my-db my-db-3`,
		Args:              command.Arguments(2, 2, "NAME or MEMBER"),
		ValidArgsFunction: command.CompleteMembers(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, in, err := c.Begin(cmd.Context(), v1alpha1.VerbReplaceMember, args[:1])
			if err != nil {
				return err
			}
			in.Request.Operation.Member = args[1]
			in.Request.Operation.Waive = command.Waived(map[string]bool{"evidence": force})
			in.Verbed = "mended: " + args[1] + " replaced"
			again := ""
			in.Ask = func(p *planner.Prepared) (command.Question, error) {
				again = p.Interrupted()
				return command.Question{What: "Replace member " + args[1] + " of " + p.Request.Operation.Cluster,
						Cluster: p.State.Cluster,
						Lost:    []string{"what is left on the volume of " + args[1]},
						Kept:    []string{"the copies of the other members"}},
					nil
			}
			in.Settled = func(in *command.Intent, _ *v1alpha1.Operation) {
				if again != "" {
					in.Next = again
				}
			}
			return c.Run(cmd.Context(), in)
		},
	}
	c.AddTo(cmd, command.ShortTimeout, true)
	cmd.Flags().BoolVar(&force, "force", false, "Replace it even if nothing shows that its data is lost.")
	return cmd
}
