package access

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

func newUserRotate(f *command.Factory) *cobra.Command {
	c := command.NewChange(f)
	var drop bool
	cmd := &cobra.Command{
		Use:   "rotate NAME [USER]",
		Short: "Give users new passwords without locking anybody out",
		Long: `Give one user of the cluster NAME a new password, or all users. The user gets it under a second name, USER.2
and USER alternately, with the same rights. The secret then holds that name and password. Clients that read the
secret again use the new one. The others keep using the old one, until --drop-old ends it.

The administrator's password changes at once, because only this tool uses it. So does that of 'client' where
TLS is on, because certificates bear the name.`,
		Example: `  # Give the user billing a second name with a new password
  kubectl dbop user rotate my-db billing

  # End the old one, once all clients have read the secret again
  kubectl dbop user rotate my-db billing --drop-old`,
		Args:              command.Arguments(1, 2, "the NAME of the cluster"),
		ValidArgsFunction: completeUsers(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, in, err := c.Begin(cmd.Context(), v1alpha1.VerbRotateCredentials, args[:1])
			if err != nil {
				return err
			}
			spec := &in.Request.Operation
			spec.DropOld = drop
			again := command.DisplayName + " user rotate " + t.Cluster.Name
			if len(args) > 1 {
				spec.User = &v1alpha1.DatabaseUser{Name: args[1]}
				again += " " + args[1]
			}
			in.Verbed, in.Ask = "credentials rotated", askDropOld(drop)
			in.Next = "once clients have read their secrets again: " + again + " --drop-old"
			if drop {
				in.Verbed, in.Next = "old credentials dropped", ""
			}
			return c.Run(cmd.Context(), in)
		},
	}
	c.AddTo(cmd, command.ShortTimeout, true)
	cmd.Flags().BoolVar(&drop, "drop-old", false, "End what the last rotation left valid.")
	return cmd
}

// askDropOld asks before clients may be refused; a rotation refuses nobody.
func askDropOld(drop bool) func(*planner.Prepared) (command.Question, error) {
	if !drop {
		return nil
	}
	return func(p *planner.Prepared) (command.Question, error) {
		return command.Question{What: "End the passwords that were valid before the last rotation",
			Cluster: p.State.Cluster,
			Lost:    []string{"access of clients that have not read their secret again"},
			Kept:    []string{"all data, and the present passwords"}}, nil
	}
}

// credential is one line of credentials show.
type credential struct {
	User string `json:"user"`
	// Secret with the password, Certificate with a certificate that logs in the same user.
	Secret      string `json:"secret,omitempty"`
	Certificate string `json:"certificate,omitempty"`
	// LogsInAs is the name that the secret holds at present, Former the one that is still valid.
	LogsInAs string `json:"logsInAs,omitempty"`
	Former   string `json:"former,omitempty"`
	// Password only on request.
	Password string `json:"password,omitempty"`
}

func newUserShow(f *command.Factory) *cobra.Command {
	out := printer.NewTables()
	var reveal bool
	cmd := &cobra.Command{
		Use:   "show NAME [USER]",
		Short: "Show which secrets clients log in with",
		Long: `Show which secrets clients of the cluster NAME log in with, and how to reach the cluster. Passwords are printed
only with --reveal. The keys of the secrets are username and password, and tls.crt, tls.key and ca.crt.`,
		Example: `  # Show the secrets of my-db
  kubectl dbop user show my-db

  # Print the password of a user
  kubectl dbop user show my-db billing --reveal`,
		Args:              command.Arguments(1, 2, "the NAME of the cluster"),
		ValidArgsFunction: completeUsers(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runUserShow(cmd.Context(), f, out, args, reveal)
		},
	}
	out.AddTo(cmd)
	cmd.Flags().BoolVar(&reveal, "reveal", false, "Print the passwords too.")
	return cmd
}

func runUserShow(ctx context.Context, f *command.Factory, out *printer.Output, args []string, reveal bool) error {
	t, err := f.Target(ctx, args[:1])
	if err != nil {
		return err
	}
	users := command.Users(t.Cluster)
	if len(args) > 1 {
		users = args[1:]
	}
	// Where clients always log in, by password, a certificate logs nobody in.
	certified := !t.Cluster.Spec.TLS.Disabled && !t.Engine.Capabilities().Login
	var found []credential
	for _, u := range users {
		one, err := credentialOf(ctx, f, t.Cluster, u, certified, reveal)
		if err != nil {
			return err
		}
		if one.Secret == "" && len(args) > 1 {
			return &ops.Error{Kind: ops.Refused, Check: "user", Unknown: true,
				Message: fmt.Sprintf("there is no secret of a user %s of %s", u, t.Cluster.Name),
				Hint:    command.DisplayName + " user list " + t.Cluster.Name, Err: kube.ErrNotFound}
		}
		found = append(found, one)
	}
	if !out.Human() {
		return out.Print(f.Streams.Out, "CredentialList", printer.List[credential]{Items: found})
	}
	return printCredentials(f, out, t.Cluster, found, certified, reveal)
}

func credentialOf(ctx context.Context, f *command.Factory, c *v1alpha1.DatabaseCluster, user string,
	certified, reveal bool) (credential, error) {
	one := credential{User: user}
	if certified {
		one.Certificate = map[string]string{v1alpha1.AdminUser: v1alpha1.AdminSecret(c.Name),
			v1alpha1.ApplicationUser: v1alpha1.ClientSecret(c.Name)}[user]
	}
	has, err := f.Clients.Passwords(ctx, c.Namespace, v1alpha1.PasswordSecret(c.Name, user))
	if errors.Is(err, kube.ErrNotFound) {
		return one, nil
	}
	if err != nil {
		return one, err
	}
	one.Secret, one.LogsInAs = v1alpha1.PasswordSecret(c.Name, user), has.Current.User
	if has.Former != nil && has.Former.User != has.Current.User {
		one.Former = has.Former.User
	}
	if reveal {
		one.Password = has.Current.Password
	}
	return one, nil
}

func printCredentials(f *command.Factory, out *printer.Output, c *v1alpha1.DatabaseCluster, found []credential,
	certified, reveal bool) error {
	columns := []string{"USER", "SECRET", "LOGS-IN-AS", "STILL-VALID", "CERTIFICATE"}
	if reveal {
		columns = append(columns, "PASSWORD")
	}
	table := out.NewTable(columns...)
	for _, one := range found {
		table.Row(one.User, one.Secret, one.LogsInAs, one.Former, one.Certificate, one.Password)
	}
	if err := table.Print(f.Streams.Out, ""); err != nil {
		return err
	}
	if !c.Spec.Auth.Enabled {
		f.Note("%s lets clients in without a password: %s user auth enable %s", c.Name, command.DisplayName, c.Name)
	}
	certificate := ""
	if certified {
		certificate = "; with a certificate they need no password"
	}
	f.Note("clients in the cluster reach it as %s.%s.svc%s", v1alpha1.ClientService(c.Name), c.Namespace, certificate)
	return nil
}
