package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
)

// handover moves a cluster between the command line and an operator.
type handover interface {
	Adopt(ctx context.Context, customs runner.Customs, namespace, name string) error
	Release(ctx context.Context, customs runner.Customs, namespace, name string) error
}

func newOperatorAdopt(f *Factory) *cobra.Command {
	return newHandover(f, "adopted", handover.Adopt, &cobra.Command{
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
	return newHandover(f, "released", handover.Release, &cobra.Command{
		Use:   "release NAME",
		Short: "Take a cluster from under its custom resource",
		Long: `Take a cluster from under its custom resource, which is deleted; the database goes on, and the command line alone
has a say. It needs neither an operator nor the definition of the kind.`,
		Example: `  # Give my-db back to the command line
  kubectl dbop operator release my-db`,
	})
}

// newHandover completes both commands, which differ in direction only.
func newHandover(f *Factory, verbed string, move func(handover, context.Context, runner.Customs, string, string) error, cmd *cobra.Command) *cobra.Command {
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
			h, customs, err := f.newHandover(t.engine)
			if err != nil {
				return err
			}
			err = move(h, cmd.Context(), customs, t.namespace, t.cluster.Name)
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
