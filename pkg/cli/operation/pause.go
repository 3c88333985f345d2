package operation

import (
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
)

// NewPause makes the command pause.
func NewPause(f *command.Factory) *cobra.Command {
	c := command.NewAction(f)
	cmd := &cobra.Command{
		Use:   "pause [NAME]",
		Short: "Pause changes of a cluster until it is resumed",
		Long: `Pause changes of a cluster until it is resumed. The database goes on; an operation in flight stops before its
next step, wherever it runs, and other changes are refused. 'kubectl dbop resume' lifts it and continues.`,
		Example: `  # Hold everything on my-db while somebody examines the storage
  kubectl dbop pause my-db`,
		Args:              command.Arguments(0, 1, "NAME"),
		ValidArgsFunction: command.CompleteClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := f.Target(cmd.Context(), args)
			if err != nil {
				return err
			}
			in := command.Intent{Namespace: t.Namespace, Engine: t.Engine, Subject: t.Subject(), Verbed: "paused",
				Next:    command.DisplayName + " resume " + t.Cluster.Name,
				Request: planner.Request{Operation: v1alpha1.OperationSpec{Cluster: t.Cluster.Name}}}
			if t.Cluster.Spec.Paused {
				return c.Settle(in, &ops.Error{Kind: ops.Unchanged})
			}
			who := f.Signed(cmd.Context(), v1alpha1.OperationSpec{})
			pause := &v1alpha1.Pause{By: who.RequestedBy, From: who.RequestedFrom, At: metav1.NewTime(f.Now())}
			if c.DryRun == command.DryRunClient {
				after := t.Cluster.DeepCopy()
				after.Spec.Paused, after.Status.Pause = true, pause
				return c.PreviewPause(in, "Pause changes", after)
			}
			mode := kube.DryRunNone
			if c.DryRun == command.DryRunServer {
				mode, in.Verbed, in.Next = kube.DryRunServer, "paused (server dry run)", ""
			}
			store, err := f.Clients.Store(mode)
			if err != nil {
				return err
			}
			if _, err := runner.SetPaused(cmd.Context(), store, t.Namespace, t.Cluster.Name, pause); err != nil {
				return err
			}
			return c.Report(cmd.Context(), in, nil, t.Cluster)
		},
	}
	c.AddTo(cmd, command.ShortTimeout, false)
	return cmd
}
