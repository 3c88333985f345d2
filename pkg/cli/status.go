package cli

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// The exit codes of status.
const (
	exitDegraded = 1
	exitDown     = 2
)

// watchEvery is the pause between two looks of status --watch.
const watchEvery = 2 * time.Second

func newStatus(f *Factory) *cobra.Command {
	out := newOutput(formatWide)
	var watch bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "status [NAME]",
		Short: "Show how a cluster is",
		Long: `Show how a cluster is, as its members say themselves, on one screen.

Exit codes: 0 healthy, 1 degraded, 2 down.`,
		Example: `  # Show the only cluster of the namespace
  kubectl dbop status

  # Follow my-db until Ctrl-C
  kubectl dbop status my-db --watch`,
		Args:              arguments(0, 1, "NAME"),
		ValidArgsFunction: completeClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			return runStatus(cmd.Context(), f, out, args, watch, timeout)
		},
	}
	out.addTo(cmd)
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "Look again every 2 seconds until interrupted.")
	cmd.Flags().DurationVar(&timeout, "timeout", 30*time.Second, "How long one look may take, such as 10s.")
	return cmd
}

func runStatus(ctx context.Context, f *Factory, out *output, args []string, watch bool, timeout time.Duration) error {
	t, err := f.target(ctx, args)
	if err != nil {
		return err
	}
	r, err := f.newRunner(runnerOptions{engine: t.engine, reporter: ops.Silent{}, dryRun: kube.DryRunClient})
	if err != nil {
		return err
	}
	world := r.world(t.namespace, t.cluster.Name)
	defer func() { _ = world.Close() }()
	for {
		sheet, err := look(ctx, t, world, timeout)
		if err != nil {
			return err
		}
		sheet.Custom = f.operated(ctx, t)
		if err := show(f, out, sheet, watch); err != nil {
			return err
		}
		if !watch {
			return verdictCode(sheet.Verdict)
		}
		select {
		case <-ctx.Done():
			return &outcome{ExitInterrupted}
		case <-world.Changed():
			// Changes come in bursts; a person can't read faster than this.
			time.Sleep(watchEvery / 4)
		case <-time.After(watchEvery):
		}
	}
}

// look observes once and judges.
func look(ctx context.Context, t *target, world ops.World, timeout time.Duration) (statusSheet, error) {
	s, err := observe(ctx, t, world, timeout)
	if err != nil {
		return statusSheet{}, err
	}
	return newStatusSheet(t.engine, s), nil
}

// observe observes a cluster that must exist, and what is in flight on it.
func observe(ctx context.Context, t *target, world ops.World, timeout time.Duration) (ops.State, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	s, err := world.Observe(ctx)
	if err != nil {
		return ops.State{}, fmt.Errorf("look at cluster %s: %w", t.cluster.Name, err)
	}
	if s.Cluster == nil {
		return ops.State{}, &ops.Error{Kind: ops.Failed, Message: "cluster " + t.cluster.Name + " is gone"}
	}
	s.Operation, err = t.store.ActiveOperation(ctx, t.namespace, t.cluster.Name)
	return s, err
}

// show prints one look. A terminal is redrawn from its top left corner, so
// that nothing flickers.
func show(f *Factory, out *output, sheet statusSheet, watch bool) error {
	if !out.human() {
		return out.print(f.Streams.Out, "ClusterStatus", sheet)
	}
	var b bytes.Buffer
	if err := sheet.print(&b, f.outPalette(), f.Now(), out.wide()); err != nil {
		return err
	}
	if watch && f.Streams.OutTTY {
		fmt.Fprint(f.Streams.Out, "\x1b[H\x1b[2J")
	}
	_, err := f.Streams.Out.Write(b.Bytes())
	return err
}

func verdictCode(v ops.Verdict) error {
	switch v.Level {
	case ops.Healthy:
		return nil
	case ops.Degraded:
		return &outcome{exitDegraded}
	default:
		return &outcome{exitDown}
	}
}
