package access

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

func newAuth(f *command.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "auth COMMAND",
		Short: "Require clients to log in, or not",
		Long: `Require clients to log in, or not. With TLS a client certificate logs in the user that it names,
so applications with the cluster's own client certificate need nothing else.`,
		Args: cobra.ArbitraryArgs,
		RunE: command.ParentOnly,
	}
	cmd.AddCommand(newAuthEnable(f), newAuthDisable(f))
	return cmd
}

func newAuthEnable(f *command.Factory) *cobra.Command {
	return command.NewSimple(f, command.Simple{
		Verb: v1alpha1.VerbEnableAuth, Verbed: "demands that clients log in",
		Use: "enable [NAME]", Short: "Require clients to log in",
		Long: `Require clients to log in. The administrator, the applications' user and every user that was made get their
passwords first, each in a secret of its own; it counts once it was tried from all sides. 'kubectl dbop cancel'
steps back. Without TLS, clients that send no password are refused from then on: make their users and let
them send it beforehand, which does no harm.`,
		Example: `  # Let only those in who log in
  kubectl dbop user auth enable my-db`,
		Ask: func(p *planner.Prepared) (command.Question, error) {
			c := p.State.Cluster
			q := command.Question{What: "Demand that clients of " + c.Name + " log in", Cluster: c,
				Kept: []string{"all data, and the way back: " + command.DisplayName + " user auth disable " + c.Name}}
			if c.Spec.TLS.Disabled {
				q.Lost = []string{"access of every client that sends no password"}
			} else {
				q.Kept = append(q.Kept, "access of clients with the certificate in secret "+v1alpha1.ClientSecret(c.Name))
				q.Lost = []string{"access of clients whose certificate names somebody else"}
			}
			return q, nil
		}})
}

func newAuthDisable(f *command.Factory) *cobra.Command {
	return command.NewSimple(f, command.Simple{
		Verb: v1alpha1.VerbDisableAuth, Verbed: "lets everybody in",
		Use: "disable [NAME]", Short: "Let clients in without a login",
		Long: `Let clients in without a login. Everybody who reaches the cluster may then do everything; with TLS,
everybody who has a certificate of its authority. Users, passwords and secrets stay for the next time.`,
		Example: `  # Let everybody in
  kubectl dbop user auth disable my-db`,
		Ask: func(p *planner.Prepared) (command.Question, error) {
			c := p.State.Cluster
			return command.Question{What: "Let everybody who reaches " + c.Name + " do everything", Cluster: c,
				Lost: []string{"the protection by users and their rights"}, Kept: []string{"users, passwords and secrets"}}, nil
		}})
}
