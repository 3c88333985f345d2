package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/external"
)

func newInspect(f *Factory) *cobra.Command {
	out := newTables(formatWide)
	flags := &outsideFlags{}
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "inspect [CLUSTER-OR-STATEFULSET]",
		Short: "Look at a database that something else made",
		Long: `Look at a database that something else made, such as a chart, another operator or a person, or at one of
this tool's: its members by their own word, their versions, and what is dangerous about it. How to speak to it is
told by flags, or guessed from its pods; what was guessed is said. Nothing is ever written.

Exit codes: 0 nothing failed, 10 something failed, 11 no majority answered.`,
		Example: `  # Look at the StatefulSet of a chart
  kubectl dbop inspect my-etcd

  # Look at pods by their labels, with a certificate and a password
  kubectl dbop inspect --selector app=etcd --cert-secret etcd-client --user-secret etcd-root

  # Look at two pods only
  kubectl dbop inspect --endpoints etcd-0:2379,etcd-1:2379 -o yaml`,
		Args:              arguments(0, 1, "NAME"),
		ValidArgsFunction: completeClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			if len(args) > 0 {
				flags.name = args[0]
			}
			if err := flags.check("NAME"); err != nil {
				return err
			}
			return runInspect(cmd.Context(), f, out, flags, timeout)
		},
	}
	out.addTo(cmd)
	flags.addTo(f, cmd)
	cmd.Flags().DurationVar(&timeout, "timeout", 30*time.Second, "How long the look may take, such as 10s.")
	return cmd
}

func runInspect(ctx context.Context, f *Factory, out *output, flags *outsideFlags, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	o, err := flags.open(ctx, f)
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
		return &outcome{ExitDown}
	case ops.Count(in.Findings, ops.Fail) > 0:
		return &outcome{ExitDegraded}
	}
	return nil
}

func showInspection(f *Factory, out *output, in external.Inspection) error {
	if !out.human() {
		return out.print(f.results(), "Inspection", in)
	}
	w, paint := f.results(), f.outPalette()
	secure, auth := "off", in.Auth
	if in.TLS {
		secure = "on"
	}
	fmt.Fprintf(w, "%s/%s in namespace %s, found by %s\n", in.Engine, in.Name, in.Namespace, in.Found)
	fmt.Fprintf(w, "Cluster ID: %s   TLS: %s   Authentication: %s\n", orNone(in.ClusterIDs), secure, orUnknown(auth))
	for _, g := range in.Guesses {
		fmt.Fprintln(w, paint.faint("assumed: "+oneLine(g)))
	}
	fmt.Fprintln(w)
	if err := inspectionTable(in, out).print(w, ""); err != nil {
		return err
	}
	fmt.Fprintln(w)
	printFindings(w, paint, in.Findings, out.wide())
	fmt.Fprintf(w, "\n%s\n", tally(in.Findings))
	return nil
}

func inspectionTable(in external.Inspection, out *output) *table {
	columns := []string{"NAME", "ROLE", "VERSION", "REVISION", "DB-SIZE", "IN-USE", "ALARMS", "NODE"}
	if out.wide() {
		columns = append(columns, "ID", "POD", "TERM", "INDEX", "PROTOCOL", "CLUSTER-ID")
	}
	t := out.newTable(columns...)
	for _, m := range in.Members {
		reading := func(name string) string {
			for _, r := range m.Progress {
				if r.Name == name {
					return itoa(r.Value)
				}
			}
			return ""
		}
		row := []string{m.Name, string(m.Role), m.Version, reading("revision"), "", "", strings.Join(m.Alarms, ","), m.Node}
		if m.Reachable {
			row[4], row[5] = size(m.DataBytes), size(m.UsedBytes)
		}
		if out.wide() {
			row = append(row, m.ID, m.Pod, reading("term"), reading("index"), m.Protocol, m.ClusterID)
		}
		t.row(row...)
	}
	return t
}
