package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
)

func newPause(f *Factory) *cobra.Command {
	c := newChange(f, perform)
	cmd := &cobra.Command{
		Use:   "pause [NAME]",
		Short: "Let nobody act on a cluster until it is resumed",
		Long: `Let nobody act on a cluster until it is resumed. The database goes on; an operation in flight stops before its
next step, wherever it runs, and other changes are refused. 'kubectl dbop resume' lifts it and continues.`,
		Example: `  # Hold everything on my-db while the storage is being looked at
  kubectl dbop pause my-db`,
		Args:              arguments(0, 1, "NAME"),
		ValidArgsFunction: completeClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.check(); err != nil {
				return err
			}
			t, err := f.target(cmd.Context(), args)
			if err != nil {
				return err
			}
			in := intent{namespace: t.namespace, engine: t.engine, subject: t.subject(), verbed: "paused", next: displayName + " resume " + t.cluster.Name,
				request: planner.Request{Operation: v1alpha1.OperationSpec{Cluster: t.cluster.Name}}}
			if t.cluster.Spec.Paused {
				return c.settle(in, &ops.Error{Kind: ops.Unchanged})
			}
			if c.dryRun == dryRunClient {
				fmt.Fprintf(f.Streams.Out, "%s paused (dry run)\n", in.subject)
				return nil
			}
			mode := kube.DryRunNone
			if c.dryRun == dryRunServer {
				mode, in.verbed, in.next = kube.DryRunServer, "paused (server dry run)", ""
			}
			store, err := f.Clients.Store(mode)
			if err != nil {
				return err
			}
			who := f.signed(cmd.Context(), v1alpha1.OperationSpec{})
			pause := &v1alpha1.Pause{By: who.RequestedBy, From: who.RequestedFrom, At: metav1.NewTime(f.Now())}
			if _, err := runner.SetPaused(cmd.Context(), store, t.namespace, t.cluster.Name, pause); err != nil {
				return err
			}
			return c.report(cmd.Context(), in, nil, t.cluster)
		},
	}
	c.addTo(cmd, shortTimeout, false)
	return cmd
}
