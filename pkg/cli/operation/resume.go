package operation

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
)

// NewResume makes the command resume.
func NewResume(f *command.Factory) *cobra.Command {
	return newContinuation(f, false, &cobra.Command{
		Use:   "resume [NAME]",
		Short: "Continue the operation in flight",
		Long: "Continue the operation in flight, no matter who started it and where. What is done already is seen, not " +
			"repeated. It also lifts a pause.",
		Example: `  # Continue what was interrupted on my-db
  kubectl dbop resume my-db`,
	})
}

// newContinuation completes resume and cancel, which differ in direction only.
func newContinuation(f *command.Factory, cancel bool, cmd *cobra.Command) *cobra.Command {
	c := command.NewAction(f)
	cmd.Args = command.Arguments(0, 1, "NAME")
	cmd.ValidArgsFunction = command.CompleteClusters(f)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return runContinuation(cmd.Context(), f, c, args, cancel)
	}
	c.AddTo(cmd, command.StreamTimeout, false)
	return cmd
}

func runContinuation(ctx context.Context, f *command.Factory, c *command.Change, args []string, cancel bool) error {
	t, err := continuationTarget(ctx, f, args)
	if err != nil {
		return err
	}
	flight, err := runner.FlightOf(ctx, t.Store, t.Namespace, t.Cluster.Name)
	if err != nil {
		return err
	}
	op := flight.First()
	in := command.Intent{Namespace: t.Namespace, Engine: t.Engine, Subject: t.Subject(), Verbed: "operation finished",
		Operation: true,
		Request:   planner.Request{Operation: v1alpha1.OperationSpec{Cluster: t.Cluster.Name}},
		Next:      command.DisplayName + " status " + t.Cluster.Name}
	if cancel {
		in.Verbed = "operation cancelled"
	}
	if op == nil && t.Cluster.Spec.Paused {
		return lift(ctx, c, in, t, cancel)
	}
	if op == nil {
		f.Note("No operation of %s is in flight.", t.Cluster.Name)
		in.Operation = false
		return c.Settle(in, &ops.Error{Kind: ops.Unchanged})
	}
	in.Request.Operation = op.Spec
	if c.DryRun != command.DryRunNone {
		return c.PreviewContinuation(ctx, in, cancel)
	}
	done, err := c.Perform(ctx, in, func(ctx context.Context, r *clients.Runner) (*v1alpha1.Operation, error) {
		return r.Resume(ctx, t.Namespace, t.Cluster.Name, cancel)
	})
	if err != nil {
		return c.Settle(in, err)
	}
	return c.Report(ctx, in, done, t.Cluster)
}

// lift ends a pause under which nothing is in flight.
func lift(ctx context.Context, c *command.Change, in command.Intent, t *clients.Target, cancel bool) error {
	in.Verbed, in.Operation = "resumed", false
	if c.Planning() || c.DryRun != command.DryRunNone {
		after := t.Cluster.DeepCopy()
		after.Spec.Paused, after.Status.Pause = false, nil
		return c.PreviewPause(in, "Lift the pause", after)
	}
	op, err := c.Perform(ctx, in, func(ctx context.Context, r *clients.Runner) (*v1alpha1.Operation, error) {
		return r.Resume(ctx, t.Namespace, t.Cluster.Name, cancel)
	})
	if err != nil {
		return c.Settle(in, err)
	}
	return c.Report(ctx, in, op, t.Cluster)
}

// continuationTarget also finds a cluster whose deletion died right before its end.
func continuationTarget(ctx context.Context, f *command.Factory, args []string) (*clients.Target, error) {
	if len(args) == 0 {
		return f.Target(ctx, args)
	}
	return command.DeletionTarget(ctx, f, args)
}
