package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// connecting is what a person asks of connect.
type connecting struct {
	member, user, database string
	noExec, show           bool
}

// NewConnect makes the command connect.
func NewConnect(f *command.Factory) *cobra.Command {
	var c connecting
	cmd := &cobra.Command{
		Use:   "connect NAME [-- ARGS...]",
		Short: "Run the database's own client",
		Long: `Run the database's own client, for a person: etcdctl, psql, valkey-cli or redis-cli. What follows -- is
given to it; without anything etcdctl shows the members. It runs in a member's pod. Where clients must log in it can't:
then the program of this machine is run, and reaches the member through a port that is open only to it, and only until
it ends. It is the administrator there, or the user that --login names. No password or key of the cluster is in its
arguments or in a file of this machine.`,
		Example: `  # Show the member list as etcdctl sees it
  kubectl dbop connect my-db

  # Read a key through the third member
  kubectl dbop connect my-db --member my-db-3 -- get some-key

  # Be a user of PostgreSQL, in the database of that user
  kubectl dbop connect my-db --login seller

  # Print the command line instead of running it
  kubectl dbop connect my-db --no-exec -- endpoint status

  # Print what applications connect with
  kubectl dbop connect my-db --print`,
		Args:              command.Arguments(1, 64, "the NAME of the cluster"),
		ValidArgsFunction: command.CompleteClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash >= 0 && dash != 1 || dash < 0 && len(args) > 1 {
				return &exit.UsageError{Text: "put the client's arguments after --",
					Advice: command.DisplayName + " connect NAME -- ARGS"}
			}
			if c.show && (c.noExec || c.member != "") {
				return exit.Misuse("--print is of no member and runs nothing: it goes with neither --member nor --no-exec")
			}
			t, err := f.Target(cmd.Context(), args[:1])
			if err == nil {
				err = c.check(t)
			}
			switch {
			case err != nil:
				return err
			case c.show:
				return printConnections(cmd.Context(), f, t, c)
			}
			return runConnect(cmd.Context(), f, t, c, args[1:])
		},
	}
	cmd.Flags().StringVar(&c.member, "member", "", "Member to reach; the first one that runs if not set.")
	cmd.Flags().StringVar(&c.user, "login", "",
		"User of the cluster to be, by the password in its secret; the administrator if not set.")
	cmd.Flags().StringVar(&c.database, "database", "", "Database of PostgreSQL to be in; that of the user if not set.")
	cmd.Flags().BoolVar(&c.noExec, "no-exec", false, "Print the command line instead of running it.")
	cmd.Flags().BoolVar(&c.show, "print", false, "Print the connection strings of applications, or of the user that "+
		"--login names, without a password, instead of connecting.")
	_ = cmd.RegisterFlagCompletionFunc("member", command.CompleteMemberFlag(f))
	_ = cmd.RegisterFlagCompletionFunc("login", command.CompleteUserFlag(f))
	return cmd
}

// leaderTimeout bounds the question who leads.
const leaderTimeout = 10 * time.Second

// check refuses a user that the cluster does not have, and a database of an engine that has none.
func (c connecting) check(t *clients.Target) error {
	users := command.Users(t.Cluster)
	switch name := t.Cluster.Name; {
	case c.database != "" && !t.Engine.Capabilities().SQL:
		return exit.Misuse("%s has no databases: --database is of engines that speak SQL", t.Engine.Name())
	case c.user == "" || slices.Contains(users, c.user):
		return nil
	default:
		return &engine.Refusal{Check: "user", Unknown: true,
			Reason: fmt.Sprintf("%s has no user %q that this tool made: it has %s", name, c.user, strings.Join(users, ", ")),
			Hint:   command.DisplayName + " user list " + name}
	}
}

func runConnect(ctx context.Context, f *command.Factory, t *clients.Target, c connecting, args []string) error {
	program, ok := t.Engine.(engine.ClientProgram)
	if !ok {
		return &engine.Refusal{Check: "connect", Reason: "no client program is known for engine " + t.Engine.Name()}
	}
	way := program.Way(t.Cluster)
	if c.user != "" && !way.OnMachine && way.Secrets == "" {
		return &engine.Refusal{Check: "user", Reason: "clients of " + t.Cluster.Name + " do not log in, so --login is nobody",
			Hint: command.DisplayName + " user auth enable " + t.Cluster.Name}
	}
	member := c.member
	if member == "" && way.Leader {
		s, err := f.ObserveOnce(ctx, t, leaderTimeout, nil)
		if err != nil {
			return err
		}
		leader, _ := s.View.Leader()
		member = leader.Name
	}
	pod, member, err := runningMember(ctx, f, t, member)
	if err != nil {
		return err
	}
	switch {
	case way.OnMachine && c.noExec:
		return printProxy(f, t, program, pod, c.user, args)
	case way.OnMachine:
		return throughProxy(ctx, f, t, program, member, c.user, args)
	case c.noExec:
		return printInPod(f, t, program, pod, c, args)
	}
	return inPod(ctx, f, t, program, pod, c, args)
}

// runningMember finds the pod of the member, or of the first that runs.
func runningMember(ctx context.Context, f *command.Factory, t *clients.Target, member string) (pod, name string,
	err error) {
	found, err := f.Clients.Pods(ctx, t.Namespace, v1alpha1.LabelCluster+"="+t.Cluster.Name+","+v1alpha1.LabelMember)
	if err != nil {
		return "", "", err
	}
	var members []string
	for _, p := range found {
		m := p.Labels[v1alpha1.LabelMember]
		members = append(members, m)
		if (member == "" && p.Status.Phase == "Running") || (member != "" && m == member) {
			return p.Name, m, nil
		}
	}
	return "", "",
		&engine.Refusal{Check: "member", Unknown: member != "",
			Reason: fmt.Sprintf("no member of %s to connect to: %q is not among %s", t.Cluster.Name, member,
				printer.OrNone(members)),
			Hint: command.DisplayName + " status " + t.Cluster.Name}
}
