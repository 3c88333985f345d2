package diagnostics

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/external"
)

// NewInspect makes the command inspect.
func NewInspect(f *command.Factory) *cobra.Command {
	out := printer.NewTables(printer.FormatWide)
	flags := &command.ExternalFlags{}
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "inspect [CLUSTER-OR-STATEFULSET]",
		Short: "Inspect a database that something else made",
		Long: `Inspect a database that something else made, such as a chart, another operator or a person, or at one of
this tool's: its members by their own word, their versions, and what is dangerous about it. How to speak to it is
told by flags, or guessed from its pods; what was guessed is said. Nothing is ever written.

Exit codes: 0 nothing failed, 10 something failed, 11 no majority answered.`,
		Example: `  # Inspect the StatefulSet of a chart
  kubectl dbop inspect my-etcd

  # Inspect pods by their labels, with a certificate and a password
  kubectl dbop inspect --selector app=etcd --cert-secret etcd-client --user-secret etcd-root

  # Inspect two pods only
  kubectl dbop inspect --endpoints etcd-0:2379,etcd-1:2379 -o yaml`,
		Args:              command.Arguments(0, 1, "NAME"),
		ValidArgsFunction: command.CompleteClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				flags.Name = args[0]
			}
			if err := flags.Check("NAME"); err != nil {
				return err
			}
			return runInspect(cmd.Context(), f, out, flags, timeout)
		},
	}
	out.AddTo(cmd)
	flags.AddTo(f, cmd)
	cmd.Flags().DurationVar(&timeout, "timeout", 30*time.Second, "Timeout of the check, such as 10s.")
	return cmd
}

func runInspect(ctx context.Context, f *command.Factory, out *printer.Output, flags *command.ExternalFlags,
	timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	o, err := flags.Open(ctx, f)
	if err != nil {
		return err
	}
	defer func() { _ = o.Close() }()
	in := o.Inspect(ctx)
	if err := showInspection(f, out, in); err != nil {
		return err
	}
	switch {
	case !in.Quorum:
		return exit.Outcome(exit.Down)
	case ops.Count(in.Findings, ops.Fail) > 0:
		return exit.Outcome(exit.Degraded)
	}
	return nil
}

func showInspection(f *command.Factory, out *printer.Output, in external.Inspection) error {
	if !out.Human() {
		return out.Print(f.Results(), "Inspection", in)
	}
	w, paint := f.Results(), f.OutPalette()
	secure, auth := "off", in.Auth
	if in.TLS {
		secure = "on"
	}
	fmt.Fprintf(w, "%s/%s in namespace %s, found by %s\n", in.Engine, in.Name, in.Namespace, in.Found)
	fmt.Fprintf(w, "Cluster ID: %s   TLS: %s   Authentication: %s\n", printer.OrNone(in.ClusterIDs), secure,
		printer.OrUnknown(auth))
	for _, g := range in.Guesses {
		fmt.Fprintln(w, paint.Faint("assumed: "+printer.OneLine(g)))
	}
	fmt.Fprintln(w)
	if err := inspectionTable(in, out).Print(w, ""); err != nil {
		return err
	}
	fmt.Fprintln(w)
	printer.PrintFindings(w, paint, in.Findings, out.Wide())
	fmt.Fprintf(w, "\n%s\n", printer.Tally(in.Findings))
	return nil
}

func inspectionTable(in external.Inspection, out *printer.Output) *printer.Table {
	var readings printer.Readings
	for _, m := range in.Members {
		readings.Add(m.Progress)
	}
	// The first reading is what people compare members by; the others are details.
	first := min(1, len(readings))
	columns := slices.Concat([]string{"NAME", "ROLE", "VERSION"}, readings.Columns()[:first],
		[]string{"DB-SIZE", "IN-USE", "ALARMS", "NODE"})
	if out.Wide() {
		columns = slices.Concat(columns, []string{"ID", "POD"}, readings.Columns()[first:],
			[]string{"PROTOCOL", "CLUSTER-ID"})
	}
	t := out.NewTable(columns...)
	for _, m := range in.Members {
		size, used, progress := "", "", readings.Row(m.Progress)
		if m.Reachable {
			size, used = printer.Size(m.DataBytes), printer.Size(m.UsedBytes)
		}
		row := slices.Concat([]string{m.Name, string(m.Role), m.Version}, progress[:first],
			[]string{size, used, strings.Join(m.Alarms, ","), m.Node})
		if out.Wide() {
			row = slices.Concat(row, []string{m.ID, m.Pod}, progress[first:], []string{m.Protocol, m.ClusterID})
		}
		t.Row(row...)
	}
	return t
}
