package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

func newResume(f *Factory) *cobra.Command {
	return newContinuation(f, false, &cobra.Command{
		Use:   "resume [NAME]",
		Short: "Continue the operation in flight",
		Long:  "Continue the operation in flight, whoever began it and from wherever. What was done already is seen, not repeated. It also lifts a pause.",
		Example: `  # Continue what was interrupted on my-db
  kubectl dbop resume my-db`,
	})
}

// newContinuation completes resume and cancel, which differ in direction only.
func newContinuation(f *Factory, cancel bool, cmd *cobra.Command) *cobra.Command {
	c := newChange(f, perform)
	cmd.Args = arguments(0, 1, "NAME")
	cmd.ValidArgsFunction = completeClusters(f)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := c.check(); err != nil {
			return err
		}
		return runContinuation(cmd.Context(), f, c, args, cancel)
	}
	c.addTo(cmd, longTimeout, false)
	return cmd
}

func runContinuation(ctx context.Context, f *Factory, c *change, args []string, cancel bool) error {
	t, err := continuationTarget(ctx, f, args)
	if err != nil {
		return err
	}
	op, err := t.store.ActiveOperation(ctx, t.namespace, t.cluster.Name)
	if err != nil {
		return err
	}
	in := intent{namespace: t.namespace, engine: t.engine, subject: t.subject(), verbed: "operation finished", operation: true,
		request: planner.Request{Operation: v1alpha1.OperationSpec{Cluster: t.cluster.Name}}, next: displayName + " status " + t.cluster.Name}
	if cancel {
		in.verbed = "operation cancelled"
	}
	if op == nil && t.cluster.Spec.Paused {
		return c.lift(ctx, in, t, cancel)
	}
	if op == nil {
		f.note("No operation of %s is in flight.", t.cluster.Name)
		in.operation = false
		return c.settle(in, &ops.Error{Kind: ops.Unchanged})
	}
	in.request.Operation = op.Spec
	if c.dryRun != dryRunNone {
		return c.previewContinuation(ctx, in, cancel)
	}
	done, err := c.perform(ctx, in, func(ctx context.Context, r *Runner) (*v1alpha1.Operation, error) {
		return r.Resume(ctx, t.namespace, t.cluster.Name, cancel)
	})
	if err != nil {
		return c.settle(in, err)
	}
	return c.report(ctx, in, done, t.cluster)
}

// lift ends a pause under which nothing is in flight.
func (c *change) lift(ctx context.Context, in intent, t *target, cancel bool) error {
	in.verbed, in.operation = "resumed", false
	if c.dryRun != dryRunNone {
		fmt.Fprintf(c.f.Streams.Out, "%s resumed (dry run)\n", in.subject)
		return nil
	}
	op, err := c.perform(ctx, in, func(ctx context.Context, r *Runner) (*v1alpha1.Operation, error) {
		return r.Resume(ctx, t.namespace, t.cluster.Name, cancel)
	})
	if err != nil {
		return c.settle(in, err)
	}
	return c.report(ctx, in, op, t.cluster)
}

// continuationTarget also finds a cluster whose deletion died right before its end.
func continuationTarget(ctx context.Context, f *Factory, args []string) (*target, error) {
	if len(args) == 0 {
		return f.target(ctx, args)
	}
	return deletionTarget(ctx, f, args)
}
