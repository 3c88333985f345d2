package diagnostics

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/executor"
)

// watchEvery is the pause between two observations of status --watch.
const watchEvery = 2 * time.Second

// NewStatus makes the command status.
func NewStatus(f *command.Factory) *cobra.Command {
	out := printer.NewTables(printer.FormatWide)
	var watch, all bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "status [NAME]",
		Short: "Show the state of a cluster",
		Long: `Show the state of a cluster, as its members say themselves, on one screen. Without NAME, and where there are
several, it lists all of the namespace, and what is wrong with those that are not healthy; the exit code is
the worst of them.

Without the right to ask the members it shows what Kubernetes knows of the cluster, and what could not be
read.

Exit codes: 0 healthy, 7 a right to ask the members is missing, 10 degraded, 11 down.`,
		Example: `  # Show the only cluster of the namespace
  kubectl dbop status

  # Show all clusters of all namespaces, and what is wrong with any
  kubectl dbop status -A

  # Follow my-db until Ctrl-C
  kubectl dbop status my-db --watch`,
		Args:              command.Arguments(0, 1, "NAME"),
		ValidArgsFunction: command.CompleteClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all && len(args) > 0 {
				return exit.Misuse("--all-namespaces does not go with NAME")
			}
			if all {
				return runStatusOfAll(cmd.Context(), f, out, metav1.NamespaceAll, watch, timeout)
			}
			several, err := several(cmd.Context(), f, args)
			if err != nil {
				return err
			}
			if several != "" {
				return runStatusOfAll(cmd.Context(), f, out, several, watch, timeout)
			}
			return runStatus(cmd.Context(), f, out, args, watch, timeout)
		},
	}
	out.AddTo(cmd)
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "Show the clusters of all namespaces.")
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "Repeat every 2 seconds until interrupted.")
	cmd.Flags().DurationVar(&timeout, "timeout", 30*time.Second, "Timeout of one check, such as 10s.")
	return cmd
}

func runStatus(ctx context.Context, f *command.Factory, out *printer.Output, args []string, watch bool,
	timeout time.Duration) error {
	t, err := f.Target(ctx, args)
	if err != nil {
		return err
	}
	r, err := f.Clients.Runner(clients.RunnerOptions{Engine: t.Engine, Reporter: ops.Silent{}, DryRun: kube.DryRunClient})
	if err != nil {
		return err
	}
	world := r.Cluster(t.Namespace, t.Cluster.Name)
	defer func() { _ = world.Close() }()
	executor.ReadAsAllowed(world)
	for {
		sheet, err := observeStatus(ctx, f, t, world, timeout, operated(ctx, f, t))
		if err != nil {
			return err
		}
		if err := show(f, out, sheet, watch); err != nil {
			return err
		}
		if !watch {
			return exit.Verdict(sheet.Verdict.Level)
		}
		select {
		case <-ctx.Done():
			return exit.Outcome(exit.Interrupted)
		case <-world.Changed():
			// Changes come in bursts; a person can't read faster than this.
			time.Sleep(watchEvery / 4)
		case <-time.After(watchEvery):
		}
	}
}

// observeStatus observes once and judges.
func observeStatus(ctx context.Context, f *command.Factory, t *clients.Target, world ops.Cluster,
	timeout time.Duration, custom *customStatus) (statusSheet, error) {
	s, err := f.Observe(ctx, t, world, timeout)
	if err != nil {
		return statusSheet{}, err
	}
	s.Orphaned = custom != nil && custom.Missing
	sheet := newStatusSheet(t.Engine, s)
	sheet.Custom = custom
	// A record that can't be read hides no status.
	if records, err := t.Store.ListOperations(ctx, t.Namespace, t.Cluster.Name); err == nil {
		sheet.LastError = lastErrorOf(records)
	}
	return sheet, nil
}

// show prints one observation.
func show(f *command.Factory, out *printer.Output, sheet statusSheet, watch bool) error {
	if !out.Human() {
		return out.Print(f.Results(), "ClusterStatus", sheet)
	}
	return redraw(f, watch, func(w io.Writer) error { return sheet.print(w, f.OutPalette(), f.Now(), out) })
}

// redraw prints a screen. A terminal that is watched is redrawn from its top
// left corner, and at once, so that nothing flickers.
func redraw(f *command.Factory, watch bool, print func(io.Writer) error) error {
	var b bytes.Buffer
	if err := print(&b); err != nil {
		return err
	}
	if watch && f.Streams.OutTTY {
		fmt.Fprint(f.Streams.Out, "\x1b[H\x1b[2J")
	}
	_, err := f.Results().Write(b.Bytes())
	return err
}
