package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

func newOperatorAdopt(f *Factory) *cobra.Command {
	return newHandover(f, "adopted", Clients.Adopt, &cobra.Command{
		Use:   "adopt NAME",
		Short: "Put a cluster of the command line under a custom resource",
		Long: `Put a cluster of the command line under a custom resource, for an operator to look after. No pod restarts, no
object is made anew, and its history stays.`,
		Example: `  # Put my-db under a custom resource of its name
  kubectl dbop operator adopt my-db

  # All clusters of the namespace
  kubectl dbop operator adopt --all`,
	})
}

func newOperatorRelease(f *Factory) *cobra.Command {
	return newHandover(f, "released", Clients.Release, &cobra.Command{
		Use:   "release NAME",
		Short: "Take a cluster from under its custom resource",
		Long: `Take a cluster from under its custom resource, which is deleted; the database goes on, and the command line alone
has a say. It needs neither an operator nor the definition of the kind.`,
		Example: `  # Give my-db back to the command line
  kubectl dbop operator release my-db`,
	})
}

// newHandover completes both commands, which differ in direction only.
func newHandover(f *Factory, verbed string, move func(Clients, context.Context, *target) error, cmd *cobra.Command) *cobra.Command {
	var all bool
	cmd.Args, cmd.ValidArgsFunction = arguments(0, 1, "the NAME of a cluster, or --all"), completeClusters(f)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if all == (len(args) == 1) {
			return misuse("name one cluster, or all of the namespace with --all")
		}
		targets, err := f.targets(cmd.Context(), args, false)
		if err != nil {
			return err
		}
		var failed error
		for _, t := range targets {
			err := move(f.Clients, cmd.Context(), t)
			switch {
			case err == nil:
				fmt.Fprintf(f.Streams.Out, "%s %s\n", t.subject(), verbed)
			case ops.KindOf(err) == ops.Unchanged:
				fmt.Fprintf(f.Streams.Out, "%s unchanged\n", t.subject())
			case len(targets) == 1:
				return err
			default:
				failed = errors.Join(failed, fmt.Errorf("%s: %w", t.subject(), err))
			}
		}
		return failed
	}
	cmd.Flags().BoolVar(&all, "all", false, "All clusters of the namespace.")
	return cmd
}
