package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// NewConnect makes the command connect.
func NewConnect(f *command.Factory) *cobra.Command {
	var member string
	var noExec, show bool
	cmd := &cobra.Command{
		Use:   "connect NAME [-- ARGS...]",
		Short: "Run the database's own client",
		Long: `Run the database's own client, for a person: etcdctl, psql, valkey-cli or redis-cli. What follows -- is
given to it; without anything etcdctl shows the members. It runs in a member's pod. Where clients must log in it can't:
then the program of this machine is run, and reaches the member through a port that is open only to it, and only until
it ends. It is the administrator there, and no password or key of the cluster is in its arguments or in a file.`,
		Example: `  # Show the member list as etcdctl sees it
  kubectl dbop connect my-db

  # Read a key through the third member
  kubectl dbop connect my-db --member my-db-3 -- get some-key

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
			if show && (noExec || member != "") {
				return exit.Misuse("--print is of no member and runs nothing: it goes with neither --member nor --no-exec")
			}
			if show {
				return printConnections(cmd.Context(), f, args[0])
			}
			return runConnect(cmd.Context(), f, args[0], member, args[1:], noExec)
		},
	}
	cmd.Flags().StringVar(&member, "member", "", "Member to reach; the first one that runs if not set.")
	cmd.Flags().BoolVar(&noExec, "no-exec", false, "Print the command line instead of running it.")
	cmd.Flags().BoolVar(&show, "print", false,
		"Print the connection strings of applications, without a password, instead of connecting.")
	_ = cmd.RegisterFlagCompletionFunc("member", command.CompleteMemberFlag(f))
	return cmd
}

// leaderTimeout bounds the question who leads.
const leaderTimeout = 10 * time.Second

func runConnect(ctx context.Context, f *command.Factory, name, member string, args []string, noExec bool) error {
	t, err := f.Target(ctx, []string{name})
	if err != nil {
		return err
	}
	program, ok := t.Engine.(engine.ClientProgram)
	if !ok {
		return &engine.Refusal{Check: "connect", Reason: "no client program is known for engine " + t.Engine.Name()}
	}
	way := program.Way(t.Cluster)
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
	case way.OnMachine && noExec:
		return printProxy(f, t, program, pod, args)
	case way.OnMachine:
		return throughProxy(ctx, f, t, program, member, args)
	}
	argv := program.InPod(t.Cluster, args)
	if noExec {
		_, err := fmt.Fprintf(f.Streams.Out, "kubectl exec -it -n %s %s -- %s\n", t.Namespace, pod, command.Words(argv))
		return err
	}
	return f.Clients.Exec(ctx, t.Namespace, pod, argv, f.Streams, f.Streams.InTTY && f.Streams.OutTTY)
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
