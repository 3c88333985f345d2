package cli

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

func newAuth(f *Factory, m mode) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "auth",
		Short: "Demand that clients log in, or stop demanding it",
		Long: `Demand that clients log in, or stop demanding it. With TLS a client certificate logs in the user that it names,
so applications with the cluster's own client certificate need nothing else.`,
		Args: cobra.ArbitraryArgs,
		RunE: parentOnly,
	}
	cmd.AddCommand(newAuthEnable(f, m), newAuthDisable(f, m))
	return cmd
}

func newAuthEnable(f *Factory, m mode) *cobra.Command {
	return newSimple(f, m, simple{
		verb: v1alpha1.VerbEnableAuth, verbed: "demands that clients log in",
		use: "enable [NAME]", short: "Demand that clients log in",
		long: `Demand that clients log in. The administrator, the applications' user and every user that was made get their
passwords first, each in a secret of its own; it counts once it was tried from all sides. 'kubectl dbop cancel'
steps back. Without TLS, clients that send no password are turned away from then on: make their users and let
them send it beforehand, which does no harm.`,
		example: `  # Let only those in who log in
  kubectl dbop auth enable my-db`,
		ask: func(p *planner.Prepared) (question, error) {
			c := p.State.Cluster
			q := question{what: "Demand that clients of " + c.Name + " log in", cluster: c, kept: []string{"all data, and the way back: " + displayName + " auth disable " + c.Name}}
			if c.Spec.TLS.Disabled {
				q.lost = []string{"access of every client that sends no password"}
			} else {
				q.kept = append(q.kept, "access of clients with the certificate in secret "+v1alpha1.ClientSecret(c.Name))
				q.lost = []string{"access of clients whose certificate names somebody else"}
			}
			return q, nil
		}})
}

func newAuthDisable(f *Factory, m mode) *cobra.Command {
	return newSimple(f, m, simple{
		verb: v1alpha1.VerbDisableAuth, verbed: "lets everybody in",
		use: "disable [NAME]", short: "Let clients in without logging in",
		long: `Let clients in without logging in: whoever reaches the cluster, and with TLS has a certificate of its authority,
may do everything. Users, passwords and secrets stay for the next time.`,
		example: `  # Let everybody in
  kubectl dbop auth disable my-db`,
		ask: func(p *planner.Prepared) (question, error) {
			c := p.State.Cluster
			return question{what: "Let everybody who reaches " + c.Name + " do everything", cluster: c,
				lost: []string{"the protection by users and their rights"}, kept: []string{"users, passwords and secrets"}}, nil
		}})
}
