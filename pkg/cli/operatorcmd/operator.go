package operatorcmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

// NewOperator makes the command operator.
func NewOperator(f *command.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "operator",
		Short: "Install and run the operator",
		Long: `Run an operator as a Deployment of this same binary. It carries out the same operations as the
commands do, for objects of kind DatabaseCluster.`,
		Args: cobra.ArbitraryArgs,
		RunE: command.ParentOnly,
	}
	cmd.AddCommand(newOperatorInstall(f), newOperatorUpgrade(f), newOperatorUninstall(f), newOperatorStatus(f),
		newOperatorAdopt(f), newOperatorRelease(f), newOperatorRun(f))
	return cmd
}

func newOperatorRun(f *command.Factory) *cobra.Command {
	c := command.OperatorConfig{Engines: f.Engines, Tool: f.Build.Version, Log: f.Verbatim}
	var helper string
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the operator process",
		Long: `Run the operator process: it manages every DatabaseCluster until it is stopped. The Deployment runs it.
It also works from a terminal, with the rights of the person who starts it.`,
		Example: `  # Manage the clusters of one namespace
  kubectl dbop operator run --watch my-namespace`,
		Args: command.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.Operate == nil {
				return exit.Misuse("this build has no operator")
			}
			if c.Workers < 1 {
				return exit.Misuse("--workers must be at least 1")
			}
			var err error
			if c.Rest, err = f.RestConfig(); err != nil {
				return err
			}
			if c.Namespace == "" {
				if c.Namespace, err = f.Namespace(); err != nil {
					return err
				}
			}
			c.HelperImage, c.FailPoint = f.HelperImage(helper, nil), f.FailPoint()
			return operate(cmd.Context(), f, c)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&c.Watched, "watch", nil, "Namespace to watch; may be repeated. All namespaces if not set.")
	flags.StringVar(&c.Namespace, "lease-namespace", "", "Namespace of the heartbeat lease; the current one if not set.")
	flags.BoolVar(&c.Elect, "elect", true, "Let one of several replicas act, by the heartbeat lease.")
	flags.BoolVar(&c.ClusterIssuers, "allow-cluster-issuers", false,
		"Let custom resources name a ClusterIssuer, or an issuer of another group, to sign their authority.")
	flags.StringVar(&c.MetricsAddress, "metrics-address", ":8080", "Where Prometheus finds metrics; 0 for nowhere.")
	flags.StringVar(&c.HealthAddress, "health-address", ":8081", "Where /healthz and /readyz are; 0 for nowhere.")
	flags.IntVar(&c.Workers, "workers", 16, "How many clusters are worked on at once.")
	flags.StringVar(&helper, "helper-image", "",
		"Image of this tool for its helper pods (environment: "+command.EnvHelperImage+").")
	return cmd
}

// operate runs until the first signal, and then ends in order.
func operate(ctx context.Context, f *command.Factory, c command.OperatorConfig) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer f.Gently(cancel)()
	return f.Operate(ctx, c)
}
