package operatorcmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/dbop-dev/kubectl-dbop/deploy"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// installation is what install, uninstall and status have in common.
type installation struct {
	f       *command.Factory
	options deploy.Options
	dryRun  string
	timeout time.Duration
}

func newInstallation(f *command.Factory) *installation {
	return &installation{f: f, options: deploy.Options{Namespace: deploy.Namespace, Replicas: 2}}
}

// addTo defines the flags that say what belongs to an installation.
func (i *installation) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&i.options.Namespace, "operator-namespace", deploy.Namespace, "Namespace of the operator.")
	flags.StringSliceVar(&i.options.Watched, "watch", nil,
		"Namespace to watch, with rights in it alone; may be repeated. All namespaces if not set.")
}

func (i *installation) addDryRun(cmd *cobra.Command) {
	cmd.Flags().StringVar(&i.dryRun, "dry-run", command.DryRunNone,
		"none, client (the manifests are printed) or server (the API server judges them).")
	cmd.Flags().Lookup("dry-run").NoOptDefVal = command.DryRunClient
	_ = cmd.RegisterFlagCompletionFunc("dry-run",
		cobra.FixedCompletions([]string{command.DryRunNone, command.DryRunClient, command.DryRunServer},
			cobra.ShellCompDirectiveNoFileComp))
}

// mode is how writes are made.
func (i *installation) mode() kube.DryRun {
	if i.dryRun == command.DryRunServer {
		return kube.DryRunServer
	}
	return kube.DryRunNone
}

func newOperatorInstall(f *command.Factory) *cobra.Command {
	i := newInstallation(f)
	var registry string
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Install the operator, or change its installation",
		Long: `Install the operator, or change its installation. A repeat changes nothing. With --dry-run=client the manifests
are printed, for those who keep them elsewhere. No pod of a database restarts.`,
		Example: `  # Install an operator for all namespaces
  kubectl dbop operator install

  # One for a single namespace, with rights in it alone
  kubectl dbop operator install --watch my-namespace`,
		Args: command.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := command.OneOf("dry-run", i.dryRun, command.DryRunNone, command.DryRunClient,
				command.DryRunServer); err != nil {
				return err
			}
			if i.options.Replicas < 1 {
				return exit.Misuse("--replicas must be at least 1")
			}
			i.options.Image = engine.Mirrored(f.HelperImage(i.options.Image, nil), f.Either(registry, command.EnvRegistry))
			return i.install(cmd.Context())
		},
	}
	i.addTo(cmd)
	i.addDryRun(cmd)
	cmd.Flags().StringVar(&i.options.Image, "image", "", "Image of this tool (environment: "+command.EnvHelperImage+").")
	cmd.Flags().BoolVar(&i.options.ClusterIssuers, "allow-cluster-issuers", false,
		"Let custom resources name a ClusterIssuer, or an issuer of another group, to sign their authority.")
	cmd.Flags().StringVar(&registry, "registry", "",
		"Registry that mirrors the image (environment: "+command.EnvRegistry+").")
	cmd.Flags().Int64Var(&i.options.Replicas, "replicas", 2, "How many pods the operator has; one of them acts.")
	cmd.Flags().DurationVar(&i.timeout, "timeout", command.ShortTimeout, "How long to wait until it is ready.")
	return cmd
}

func (i *installation) install(ctx context.Context) error {
	objects, err := deploy.Manifests(i.options)
	if err != nil {
		return err
	}
	if i.dryRun == command.DryRunClient {
		return i.print(objects)
	}
	for _, o := range objects {
		err := i.f.Clients.ApplyManifest(ctx, i.mode(), o)
		// Under a server dry run the namespace is not there for what goes into it.
		if errors.Is(err, kube.ErrNotFound) && i.dryRun == command.DryRunServer {
			continue
		}
		if err != nil {
			return fmt.Errorf("install %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	if i.dryRun == command.DryRunServer {
		fmt.Fprintln(i.f.Streams.Out, "operator installed (server dry run)")
		return nil
	}
	return i.ready(ctx, "installed")
}

// print writes manifests as they would be applied.
func (i *installation) print(objects []*unstructured.Unstructured) error {
	for n, o := range objects {
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			return fmt.Errorf("print %s: %w", o.GetName(), err)
		}
		if n > 0 {
			fmt.Fprintln(i.f.Streams.Out, "---")
		}
		fmt.Fprint(i.f.Streams.Out, string(text))
	}
	return nil
}

// ready waits for the pods.
func (i *installation) ready(ctx context.Context, verbed string) error {
	ctx, cancel := context.WithTimeout(ctx, i.timeout)
	defer cancel()
	for {
		ready, wanted, _, err := i.f.Clients.Rollout(ctx, i.options.Namespace, deploy.Name)
		if err == nil && ready == wanted {
			fmt.Fprintf(i.f.Streams.Out, "operator %s\n", verbed)
			i.f.Note("next: kubectl apply -f a DatabaseCluster, or %s operator adopt NAME", command.DisplayName)
			return nil
		}
		timer := time.NewTimer(time.Second)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return &ops.Error{Kind: ops.TimedOut,
				Message: fmt.Sprintf("the operator is %s, and %d of %d pods are ready", verbed, ready, wanted), Err: err,
				Hint: "kubectl describe pods -n " + i.options.Namespace + "; the same command waits again"}
		}
	}
}
