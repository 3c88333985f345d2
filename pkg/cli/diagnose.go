package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/executor"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// diagnosisSheet is what diagnose says, for machines.
type diagnosisSheet struct {
	Namespace        string `json:"namespace"`
	Name             string `json:"name"`
	Engine           string `json:"engine"`
	health.Diagnosis `json:",inline"`
}

func newDiagnose(f *Factory) *cobra.Command {
	out := newOutput(formatWide)
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "diagnose [NAME]",
		Short: "Examine a cluster and say what to do",
		Long: `Examine a cluster from all sides: each member is asked by itself, and what Kubernetes has of it is looked
at. Every finding is OK, WARN or FAIL, with what it rests on and what to do. A lost quorum is called transient
or permanent. Nothing is changed.

The verdict and the exit code are those of status: 0 healthy, 10 degraded, 11 down.`,
		Example: `  # Examine the only cluster of the namespace
  kubectl dbop diagnose

  # Show what was seen of the parts that are well, too
  kubectl dbop diagnose my-db -o wide`,
		Args:              arguments(0, 1, "NAME"),
		ValidArgsFunction: completeClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			return runDiagnose(cmd.Context(), f, out, args, timeout)
		},
	}
	out.addTo(cmd)
	cmd.Flags().DurationVar(&timeout, "timeout", 30*time.Second, "How long the look may take, such as 10s.")
	return cmd
}

func runDiagnose(ctx context.Context, f *Factory, out *output, args []string, timeout time.Duration) error {
	t, err := f.target(ctx, args)
	if err != nil {
		return err
	}
	d, err := f.diagnose(ctx, t, timeout)
	if err != nil {
		return err
	}
	sheet := diagnosisSheet{Namespace: t.namespace, Name: t.cluster.Name, Engine: t.engine.Name(), Diagnosis: d}
	if err := sheet.show(f, out); err != nil {
		return err
	}
	return verdictCode(d.Level)
}

// diagnose looks once and examines what was seen.
func (f *Factory) diagnose(ctx context.Context, t *target, timeout time.Duration) (health.Diagnosis, error) {
	s, err := f.look(ctx, t, timeout)
	if err != nil {
		return health.Diagnosis{}, err
	}
	return health.Diagnose(t.engine, s), nil
}

// look observes a cluster once, and writes nothing.
func (f *Factory) look(ctx context.Context, t *target, timeout time.Duration) (ops.State, error) {
	r, err := f.Clients.Runner(RunnerOptions{Engine: t.engine, Reporter: ops.Silent{}, DryRun: kube.DryRunClient})
	if err != nil {
		return ops.State{}, err
	}
	world := r.World(t.namespace, t.cluster.Name)
	defer func() { _ = world.Close() }()
	executor.LookAtAll(world)
	return f.observe(ctx, t, world, timeout)
}

func (s diagnosisSheet) show(f *Factory, out *output) error {
	if !out.human() {
		return out.print(f.results(), "ClusterDiagnosis", s)
	}
	paint := f.outPalette()
	head := paint.level(s.Level)
	fmt.Fprintf(f.Streams.Out, "%s  %s/%s in namespace %s: %s\n\n", head, s.Engine, s.Name, s.Namespace, tally(s.Findings))
	printFindings(f.results(), paint, s.Findings, out.wide())
	return nil
}
