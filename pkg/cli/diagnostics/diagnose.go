package diagnostics

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// diagnosisSheet is what diagnose says, for machines.
type diagnosisSheet struct {
	Namespace        string `json:"namespace"`
	Name             string `json:"name"`
	Engine           string `json:"engine"`
	health.Diagnosis `json:",inline"`
}

// NewDiagnose makes the command diagnose.
func NewDiagnose(f *command.Factory) *cobra.Command {
	out := printer.NewOutput(printer.FormatWide)
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "diagnose [NAME]",
		Short: "Examine a cluster and say what to do",
		Long: `Examine a cluster from all sides: each member by itself, and its objects in Kubernetes. Every finding is OK,
WARN or FAIL, with what it rests on and what to do. A lost quorum is called transient or permanent. Nothing
is changed.

The verdict and the exit code are those of status: 0 healthy, 10 degraded, 11 down.`,
		Example: `  # Examine the only cluster of the namespace
  kubectl dbop diagnose

  # Show the evidence of healthy parts too
  kubectl dbop diagnose my-db -o wide`,
		Args:              command.Arguments(0, 1, "NAME"),
		ValidArgsFunction: command.CompleteClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runDiagnose(cmd.Context(), f, out, args, timeout)
		},
	}
	out.AddTo(cmd)
	cmd.Flags().DurationVar(&timeout, "timeout", 30*time.Second, "Timeout of the check, such as 10s.")
	return cmd
}

func runDiagnose(ctx context.Context, f *command.Factory, out *printer.Output, args []string,
	timeout time.Duration) error {
	t, err := f.Target(ctx, args)
	if err != nil {
		return err
	}
	d, err := diagnose(ctx, f, t, timeout)
	if err != nil {
		return err
	}
	sheet := diagnosisSheet{Namespace: t.Namespace, Name: t.Cluster.Name, Engine: t.Engine.Name(), Diagnosis: d}
	if err := sheet.show(f, out); err != nil {
		return err
	}
	return exit.Verdict(d.Level)
}

// diagnose observes once and examines the state.
func diagnose(ctx context.Context, f *command.Factory, t *clients.Target, timeout time.Duration) (health.Diagnosis,
	error) {
	s, err := f.ObserveOnce(ctx, t, timeout, command.Everything)
	if err != nil {
		return health.Diagnosis{}, err
	}
	return health.Diagnose(t.Engine, s, planner.Verbs()), nil
}

func (s diagnosisSheet) show(f *command.Factory, out *printer.Output) error {
	if !out.Human() {
		return out.Print(f.Results(), "ClusterDiagnosis", s)
	}
	paint := f.OutPalette()
	head := paint.Level(s.Level)
	fmt.Fprintf(f.Streams.Out, "%s  %s/%s in namespace %s: %s\n\n", head, s.Engine, s.Name, s.Namespace,
		printer.Tally(s.Findings))
	printer.PrintFindings(f.Results(), paint, s.Findings, out.Wide())
	return nil
}
