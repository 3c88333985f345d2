package operatorcmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

func newOperatorAdopt(f *command.Factory) *cobra.Command {
	return newHandover(f, "adopted", clients.Clients.Adopt, &cobra.Command{
		Use:   "adopt NAME",
		Short: "Put a cluster of the command line under a custom resource",
		Long: `Put a cluster of the command line under a custom resource, for an operator to manage. No pod restarts, no
object is recreated, and its history stays.`,
		Example: `  # Put my-db under a custom resource of its name
  kubectl dbop operator adopt my-db

  # All clusters of the namespace
  kubectl dbop operator adopt --all`,
	})
}

func newOperatorRelease(f *command.Factory) *cobra.Command {
	return newHandover(f, "released", clients.Clients.Release, &cobra.Command{
		Use:   "release NAME",
		Short: "Take a cluster from under its custom resource",
		Long: `Take a cluster from under its custom resource, which is deleted. The database goes on, and from then on the
command line changes it. Neither an operator nor the definition of the kind is needed.`,
		Example: `  # Give my-db back to the command line
  kubectl dbop operator release my-db`,
	})
}

// newHandover completes both commands, which differ in direction only.
func newHandover(f *command.Factory, verbed string, move func(clients.Clients, context.Context, *clients.Target) error,
	cmd *cobra.Command) *cobra.Command {
	var all bool
	cmd.Args, cmd.ValidArgsFunction = command.Arguments(0, 1, "the NAME of a cluster, or --all"),
		command.CompleteClusters(f)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if all == (len(args) == 1) {
			return exit.Misuse("name one cluster, or all of the namespace with --all")
		}
		targets, err := f.Targets(cmd.Context(), args, false)
		if err != nil {
			return err
		}
		var failed error
		for _, t := range targets {
			err := move(f.Clients, cmd.Context(), t)
			switch {
			case err == nil:
				fmt.Fprintf(f.Streams.Out, "%s %s\n", t.Subject(), verbed)
			case ops.KindOf(err) == ops.Unchanged:
				fmt.Fprintf(f.Streams.Out, "%s unchanged\n", t.Subject())
			case len(targets) == 1:
				return err
			default:
				failed = errors.Join(failed, fmt.Errorf("%s: %w", t.Subject(), err))
			}
		}
		return failed
	}
	cmd.Flags().BoolVar(&all, "all", false, "All clusters of the namespace.")
	return cmd
}
