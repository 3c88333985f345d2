package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// OperatorConfig is what the other driver is started with. The two don't know
// each other: main connects them.
type OperatorConfig struct {
	Rest                          *rest.Config
	Engines                       []engine.Engine
	Tool, HelperImage             string
	Namespace                     string
	Watched                       []string
	Elect                         bool
	ClusterIssuers                bool
	MetricsAddress, HealthAddress string
	Workers                       int
	Log                           io.Writer
	FailPoint                     func(when string, step ops.Step)
}

func newOperator(f *Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "operator",
		Short: "Have clusters looked after by a Deployment",
		Long: `Have clusters looked after by a Deployment of this very binary. It carries out the same operations as the
commands do, for objects of kind DatabaseCluster.`,
		Args: cobra.ArbitraryArgs,
		RunE: parentOnly,
	}
	cmd.AddCommand(newOperatorInstall(f), newOperatorUpgrade(f), newOperatorUninstall(f), newOperatorStatus(f),
		newOperatorAdopt(f), newOperatorRelease(f), newOperatorRun(f))
	return cmd
}

func newOperatorRun(f *Factory) *cobra.Command {
	c := OperatorConfig{Engines: f.Engines, Tool: f.Build.Version, Log: f.verbatim}
	var helper string
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Be the operator",
		Long: `Be the operator: look after every DatabaseCluster until told to stop. This is what the Deployment runs; from a
terminal it works too, with the rights of whoever runs it.`,
		Example: `  # Look after the clusters of one namespace
  kubectl dbop operator run --watch my-namespace`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.Operate == nil {
				return misuse("this build has no operator")
			}
			if c.Workers < 1 {
				return misuse("--workers must be at least 1")
			}
			var err error
			if c.Rest, err = f.restConfig(); err != nil {
				return err
			}
			if c.Namespace == "" {
				if c.Namespace, err = f.namespace(); err != nil {
					return err
				}
			}
			c.HelperImage, c.FailPoint = f.helperImage(helper, nil), f.failPoint()
			return operate(cmd.Context(), f, c)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&c.Watched, "watch", nil, "Namespace to look after; may be repeated. All, if none is named.")
	flags.StringVar(&c.Namespace, "lease-namespace", "", "Namespace of the heartbeat lease; the current one if not set.")
	flags.BoolVar(&c.Elect, "elect", true, "Let one of several replicas act, by the heartbeat lease.")
	flags.BoolVar(&c.ClusterIssuers, "allow-cluster-issuers", false, "Let custom resources name a ClusterIssuer, or an issuer of another group, to sign their authority.")
	flags.StringVar(&c.MetricsAddress, "metrics-address", ":8080", "Where Prometheus finds metrics; 0 for nowhere.")
	flags.StringVar(&c.HealthAddress, "health-address", ":8081", "Where /healthz and /readyz are; 0 for nowhere.")
	flags.IntVar(&c.Workers, "workers", 16, "How many clusters are worked on at once.")
	flags.StringVar(&helper, "helper-image", "", "Image of this tool for its helper pods (environment: "+envHelperImage+").")
	return cmd
}

// operate runs until the first signal, and then ends in order.
func operate(ctx context.Context, f *Factory, c OperatorConfig) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer f.gently(cancel)()
	return f.Operate(ctx, c)
}
