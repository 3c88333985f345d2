package cluster

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

func newRemoveMember(f *command.Factory) *cobra.Command {
	c := command.NewChange(f)
	cmd := &cobra.Command{
		Use:   "remove NAME MEMBER",
		Short: "Remove one member from a cluster",
		Long: `Remove one member from a cluster, with its volume. A leader hands over first; a removal that would cost
the majority is refused. An entry of the database's member list that is no member of this cluster is removed
by its name or ID; no volume goes with it. A member that the database does not list any more is removed with
what is left of it.`,
		Example: `  # Remove the third member of my-db
  kubectl dbop member remove my-db my-db-3`,
		Args:              command.Arguments(2, 2, "NAME or MEMBER"),
		ValidArgsFunction: command.CompleteMembers(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, in, err := c.Begin(cmd.Context(), v1alpha1.VerbRemoveMember, args[:1])
			if err != nil {
				return err
			}
			in.Request.Operation.Member = args[1]
			in.Verbed = "shrunk"
			if v1alpha1.MemberNumber(in.Request.Operation.Cluster, args[1]) == 0 {
				in.Verbed = "without " + args[1] + " in its member list"
			}
			in.Ask = func(p *planner.Prepared) (command.Question, error) { return removal(p, args[1]) }
			return c.Run(cmd.Context(), in)
		},
	}
	c.AddTo(cmd, command.ShortTimeout, true)
	return cmd
}

func removal(p *planner.Prepared, member string) (command.Question, error) {
	if v1alpha1.MemberNumber(p.Request.Operation.Cluster, member) == 0 {
		return command.Question{What: "Remove " + member + " from the member list of " + p.Request.Operation.Cluster,
			Cluster: p.State.Cluster,
			Lost:    []string{"the entry of " + member + ", which is no member of this cluster"},
			Kept:    []string{"all members, with their volumes"}}, nil
	}
	return command.Question{What: "Remove member " + member + " of " + p.Request.Operation.Cluster,
		Cluster: p.State.Cluster,
		Lost:    []string{"the volume of " + member}, Kept: []string{"the copies of the other members"}}, nil
}
