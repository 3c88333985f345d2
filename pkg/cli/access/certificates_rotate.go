package access

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

func newCertificatesRotate(f *command.Factory) *cobra.Command {
	c := command.NewChange(f)
	var half string
	var allowDowntime bool
	cmd := &cobra.Command{
		Use:   "rotate [NAME]",
		Short: "Renew certificates, or rotate the authority",
		Long: `Renew every certificate of a cluster. Members read theirs at the next handshake, so nothing restarts.
It also mends a cluster whose certificates ran out.

With --ca the authority that signs them is replaced, in two halves, so that no client is locked out:

  --ca=begin    Members restart one by one and trust both authorities. The secret of the applications,
                NAME-client-tls, then holds both authorities and a certificate of the new one. --ca alone is this.
  --ca=finish   Once every application has read that secret again: members get certificates of the new
                authority, the old one is dropped, and members restart one by one.
  --ca=at-once  Both without a stop, where no application would miss it; and the way out where the
                authority ran out: then all members restart together, without asking for a quorum.
  --ca=abandon  Instead of finish: the old authority alone signs and is trusted again.

Between the halves the cluster is free for other operations.`,
		Example: `  # Renew all certificates of my-db
  kubectl dbop certificates rotate my-db

  # Begin to replace the authority, and later finish it
  kubectl dbop certificates rotate my-db --ca
  # After the applications have read secret my-db-client-tls again
  kubectl dbop certificates rotate my-db --ca=finish`,
		Args:              command.Arguments(0, 1, "NAME"),
		ValidArgsFunction: command.CompleteClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			rotation := v1alpha1.Rotation(half)
			if half == "" {
				rotation = v1alpha1.RotateLeaves
			} else if err := command.OneOf("ca", half, rotations()...); err != nil {
				return err
			}
			t, in, err := c.Begin(cmd.Context(), v1alpha1.VerbRotateCertificates, args)
			if err != nil {
				return err
			}
			in.Request.Operation.Rotation = rotation
			in.Request.Operation.Waive = command.Waived(map[string]bool{"downtime": allowDowntime})
			in.Verbed, in.Next = "rotated", command.DisplayName+" certificates show "+t.Cluster.Name
			switch rotation {
			case v1alpha1.RotateBegin:
				in.Verbed = "trusts both authorities"
				in.Next = "let every application read secret " + v1alpha1.ClientSecret(t.Cluster.Name) +
					" again (ca.crt holds both authorities), then " +
					command.DisplayName + " certificates rotate " + t.Cluster.Name + " --ca=finish"
			case v1alpha1.RotateFinish, v1alpha1.RotateAtOnce, v1alpha1.RotateAbandon:
				in.Ask = rotationQuestion(rotation)
			}
			return c.Run(cmd.Context(), in)
		},
	}
	c.AddTo(cmd, command.LongTimeout, true)
	cmd.Flags().StringVar(&half, "ca", "", "Replace the authority: begin, finish, at-once or abandon.")
	cmd.Flags().Lookup("ca").NoOptDefVal = string(v1alpha1.RotateBegin)
	cmd.Flags().BoolVar(&allowDowntime, "allow-downtime", false,
		"Accept that a cluster of one member is down while it restarts.")
	_ = cmd.RegisterFlagCompletionFunc("ca", cobra.FixedCompletions(rotations(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func rotations() []string {
	return []string{string(v1alpha1.RotateBegin), string(v1alpha1.RotateFinish), string(v1alpha1.RotateAtOnce),
		string(v1alpha1.RotateAbandon)}
}

// rotationQuestion says who is locked out if it was not prepared.
func rotationQuestion(r v1alpha1.Rotation) func(*planner.Prepared) (command.Question, error) {
	return func(p *planner.Prepared) (command.Question, error) {
		c := p.State.Cluster
		q := command.Question{What: "Rotate the authority of " + c.Name, Cluster: c,
			Lost: []string{"the way in for applications that have not read secret " + v1alpha1.ClientSecret(c.Name) +
				" since both authorities are in it"},
			Kept: []string{"all data, and a majority at every moment"}}
		if r == v1alpha1.RotateAtOnce && rules.AuthorityOver(p.State) {
			q.What, q.Typed = "Replace the authority of "+c.Name+", which ran out, and restart all members together", c.Name
			q.Lost = []string{"the way in for every application, until it has read secret " + v1alpha1.ClientSecret(c.Name) +
				" again", "service, until a majority has started again"}
			q.Kept = []string{"all data"}
		}
		if r == v1alpha1.RotateAbandon {
			q.What = "Give up the new authority of " + c.Name
			q.Lost = []string{"the way in for applications that go on with a certificate of the new authority"}
		}
		return q, nil
	}
}
