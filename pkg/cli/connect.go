package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func newConnect(f *Factory) *cobra.Command {
	var member string
	var noExec bool
	cmd := &cobra.Command{
		Use:   "connect NAME [-- ARGS...]",
		Short: "Run the database's own client in a member",
		Long: `Run the database's own client in a member, for a person: etcdctl for etcd. What follows -- is given to it;
without anything it shows the members.`,
		Example: `  # Show the member list as etcdctl sees it
  kubectl dbop connect my-db

  # Read a key through the third member
  kubectl dbop connect my-db --member my-db-3 -- get some-key

  # Print the command line instead of running it
  kubectl dbop connect my-db --no-exec -- endpoint status`,
		Args:              arguments(1, 64, "the NAME of the cluster"),
		ValidArgsFunction: completeClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash >= 0 && dash != 1 || dash < 0 && len(args) > 1 {
				return &usageError{text: "what is meant for the client stands after --", hint: displayName + " connect NAME -- ARGS"}
			}
			return runConnect(cmd.Context(), f, args[0], member, args[1:], noExec)
		},
	}
	cmd.Flags().StringVar(&member, "member", "", "Member to run in; the first one that runs if not set.")
	cmd.Flags().BoolVar(&noExec, "no-exec", false, "Print the command line instead of running it.")
	_ = cmd.RegisterFlagCompletionFunc("member", completeMemberFlag(f))
	return cmd
}

func runConnect(ctx context.Context, f *Factory, name, member string, args []string, noExec bool) error {
	t, err := f.target(ctx, []string{name})
	if err != nil {
		return err
	}
	if t.cluster.Spec.Auth.Enabled {
		f.note("note: clients of %s must log in, and a client in a member's pod can't; %s credentials show %s names what one elsewhere needs", name, displayName, name)
	}
	argv, err := clientCommand(t.cluster, args)
	if err != nil {
		return err
	}
	reader, err := f.newPods()
	if err != nil {
		return err
	}
	found, err := reader.List(ctx, t.namespace, v1alpha1.LabelCluster+"="+name+","+v1alpha1.LabelMember)
	if err != nil {
		return err
	}
	var pod string
	var members []string
	for _, p := range found {
		m := p.Labels[v1alpha1.LabelMember]
		members = append(members, m)
		if (member == "" && pod == "" && p.Status.Phase == "Running") || (member != "" && m == member) {
			pod = p.Name
		}
	}
	if pod == "" {
		return &engine.Refusal{Check: "member", Reason: fmt.Sprintf("no member of %s to connect to: %q is not among %s", name, member, orNone(members)),
			Hint: displayName + " status " + name}
	}
	if noExec {
		_, err := fmt.Fprintf(f.Streams.Out, "kubectl exec -it -n %s %s -- %s\n", t.namespace, pod, strings.Join(argv, " "))
		return err
	}
	return reader.Exec(ctx, t.namespace, pod, argv, f.Streams, f.Streams.InTTY && f.Streams.OutTTY)
}
