package access

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/executor"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// NewUser makes the command user.
func NewUser(f *command.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "user COMMAND",
		Short: "Manage users, their passwords, and whether clients must log in",
		Long: `Manage users of the database, their passwords, and whether clients must log in. Each user has a generated
password in a secret of its own.`,
		Example: `  # Create a user
  kubectl dbop user create my-db billing

  # Show the secret with its password
  kubectl dbop user show my-db billing`,
		Args: cobra.ArbitraryArgs,
		RunE: command.ParentOnly,
	}
	cmd.AddCommand(newUserCreate(f), newUserList(f), newUserShow(f), newUserRotate(f), newUserDelete(f), newAuth(f))
	return cmd
}

func newUserCreate(f *command.Factory) *cobra.Command {
	var wanted v1alpha1.DatabaseUser
	var database string
	cmd := newUserChange(f, userChange{verb: v1alpha1.VerbCreateUser, verbed: "created",
		use: "create NAME USER", short: "Create a user with a generated password",
		long: `Create a user of the cluster NAME with a generated password, which is kept in the secret NAME-user-USER. By
default the user may read and write all data, of PostgreSQL that of the database "app".`,
		example: `  # Create a user who may use the keys below /billing/
  kubectl dbop user create my-db billing --prefix /billing/

  # Create a user of PostgreSQL with a database of its own
  kubectl dbop user create my-db seller --database shop

  # Create a user who may read everything
  kubectl dbop user create my-db dashboard --read-only`,
		fill: func(t *clients.Target, o *v1alpha1.OperationSpec) error {
			switch {
			case database != "" && !t.Engine.Capabilities().SQL:
				return exit.Misuse("%s has no databases: --database is of engines that speak SQL", t.Engine.Name())
			case database != "" && wanted.Prefix != "":
				return exit.Misuse("--database and --prefix say both what the user may use: name one of them")
			}
			c, u := t.Cluster, wanted
			u.Prefix = cmp.Or(database, u.Prefix)
			u.Name = o.User.Name
			o.User = &u
			if !t.Engine.Capabilities().Login && !c.Spec.TLS.Disabled && (u.ReadOnly || u.Prefix != "") {
				f.Note("note: a client that sends no name acts as the user that its certificate names; secret %s names "+
					"one who may do more", v1alpha1.ClientSecret(c.Name))
			}
			return nil
		},
		next: func(c *v1alpha1.DatabaseCluster, user string) string {
			return command.DisplayName + " user show " + c.Name + " " + user
		}})
	cmd.Flags().StringVar(&wanted.Prefix, "prefix", "",
		"Beginning of the keys that the user may use; all of them if not set.")
	cmd.Flags().StringVar(&database, "database", "",
		"Database of PostgreSQL that the user may use, which is made if it is not there; app if not set.")
	cmd.Flags().BoolVar(&wanted.ReadOnly, "read-only", false, "Let the user read and not write.")
	return cmd
}

func newUserDelete(f *command.Factory) *cobra.Command {
	return newUserChange(f, userChange{verb: v1alpha1.VerbDeleteUser, verbed: "deleted",
		use: "delete NAME USER", short: "Delete a user and its secret",
		long: "Delete a user of the cluster NAME and the secret with its password. Clients that are logged in with " +
			"it are refused.",
		example: `  # Delete a user
  kubectl dbop user delete my-db billing`,
		ask: func(p *planner.Prepared) (command.Question, error) {
			u := p.Request.Operation.User.Name
			return command.Question{What: "Delete user " + u, Cluster: p.State.Cluster,
				Lost: []string{"access of every client that logs in as " + u},
				Kept: []string{"all data"}}, nil
		}})
}

// userChange describes a command that changes one user.
type userChange struct {
	verb                              v1alpha1.Verb
	verbed, use, short, long, example string
	fill                              func(*clients.Target, *v1alpha1.OperationSpec) error
	ask                               func(*planner.Prepared) (command.Question, error)
	next                              func(c *v1alpha1.DatabaseCluster, user string) string
}

func newUserChange(f *command.Factory, u userChange) *cobra.Command {
	c := command.NewChange(f)
	cmd := &cobra.Command{
		Use: u.use, Short: u.short, Long: u.long, Example: u.example,
		Args:              command.Arguments(2, 2, "the NAME of the cluster or the USER"),
		ValidArgsFunction: completeUsers(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, in, err := c.Begin(cmd.Context(), u.verb, args[:1])
			if err != nil {
				return err
			}
			in.Request.Operation.User = &v1alpha1.DatabaseUser{Name: args[1]}
			if u.fill != nil {
				if err := u.fill(t, &in.Request.Operation); err != nil {
					return err
				}
			}
			in.Subject, in.Verbed, in.Ask, in.Next = "user/"+args[1], u.verbed, u.ask, ""
			if u.next != nil {
				in.Next = u.next(t.Cluster, args[1])
			}
			return c.Run(cmd.Context(), in)
		},
	}
	c.AddTo(cmd, command.ShortTimeout, u.ask != nil)
	return cmd
}

func newUserList(f *command.Factory) *cobra.Command {
	out := printer.NewTables()
	cmd := &cobra.Command{
		Use:   "list [NAME]",
		Short: "List the users of the database",
		Long: "List the users of the database as it knows them, with what they may do and the secret that holds their " +
			"password.",
		Example: `  # List the users of my-db
  kubectl dbop user list my-db`,
		Args:              command.Arguments(0, 1, "NAME"),
		ValidArgsFunction: command.CompleteClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runUserList(cmd.Context(), f, out, args)
		},
	}
	out.AddTo(cmd)
	return cmd
}

func runUserList(ctx context.Context, f *command.Factory, out *printer.Output, args []string) error {
	t, err := f.Target(ctx, args)
	if err != nil {
		return err
	}
	users, err := f.Clients.Users(ctx, t)
	if err != nil {
		return err
	}
	if !out.Human() {
		return out.Print(f.Streams.Out, "UserList", printer.List[engine.User]{Items: users})
	}
	table := out.NewTable("USER", "ROLE", "MAY", "SECRET")
	for _, u := range users {
		table.Row(u.Name, u.Role, rights(t.Engine, u), secretOf(t.Cluster, u.Name))
	}
	return table.Print(f.Streams.Out, "")
}

// rights spells out what a user may do: where databases speak SQL, a prefix is the name of one.
func rights(e engine.Engine, u engine.User) string {
	if u.Admin {
		return "everything"
	}
	var out []string
	for _, g := range u.Grants {
		verb := "read and write "
		if g.ReadOnly {
			verb = "read "
		}
		keys := "all data"
		switch {
		case g.Prefix == "":
		case e.Capabilities().SQL:
			keys = "database " + g.Prefix
		default:
			keys = g.Prefix + "*"
		}
		out = append(out, verb+keys)
	}
	return strings.Join(out, ", ")
}

// secretOf names the secret of a user, by either of its names; "" for one that
// somebody else made.
func secretOf(c *v1alpha1.DatabaseCluster, user string) string {
	for _, own := range command.Users(c) {
		if user == own || user == executor.SecondName(own) {
			return v1alpha1.PasswordSecret(c.Name, own)
		}
	}
	return ""
}

// completeUsers suggests a cluster, then one of its users.
func completeUsers(f *command.Factory) command.Completion {
	return command.Suggest(2, func(ctx context.Context, args []string) ([]string, error) {
		if len(args) == 0 {
			return command.ClusterNames(ctx, f)
		}
		t, err := f.Target(ctx, args[:1])
		if err != nil {
			return nil, fmt.Errorf("suggest users: %w", err)
		}
		return command.Users(t.Cluster), nil
	})
}
