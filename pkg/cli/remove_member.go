package cli

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

func newRemoveMember(f *Factory, m mode) *cobra.Command {
	c := newChange(f, m)
	cmd := &cobra.Command{
		Use:   "remove-member NAME MEMBER",
		Short: "Remove one member from a cluster",
		Long: `Remove one member from a cluster, with its volume. A leader hands over first; a removal that would cost
the majority is refused. An entry of the database's member list that is no member of this cluster is removed
by its name or ID; no volume goes with it.`,
		Example: `  # Remove the third member of my-db
  kubectl dbop remove-member my-db my-db-3`,
		Args:              arguments(2, 2, "NAME or MEMBER"),
		ValidArgsFunction: completeMembers(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, in, err := c.begin(cmd.Context(), v1alpha1.VerbRemoveMember, args[:1])
			if err != nil {
				return err
			}
			in.request.Operation.Member = args[1]
			in.verbed = "shrunk"
			if v1alpha1.MemberNumber(in.request.Operation.Cluster, args[1]) == 0 {
				in.verbed = "without " + args[1] + " in its member list"
			}
			in.ask = func(p *planner.Prepared) (question, error) { return removal(p, args[1]) }
			return c.run(cmd.Context(), in)
		},
	}
	c.addTo(cmd, shortTimeout, true)
	return cmd
}

func removal(p *planner.Prepared, member string) (question, error) {
	if v1alpha1.MemberNumber(p.Request.Operation.Cluster, member) == 0 {
		return question{what: "Remove " + member + " from the member list of " + p.Request.Operation.Cluster, cluster: p.State.Cluster,
			lost: []string{"the entry of " + member + ", which is no member of this cluster"}, kept: []string{"all members, with their volumes"}}, nil
	}
	return question{what: "Remove member " + member + " of " + p.Request.Operation.Cluster, cluster: p.State.Cluster,
		lost: []string{"the volume of " + member}, kept: []string{"the copies of the other members"}}, nil
}
