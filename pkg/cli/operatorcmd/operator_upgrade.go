package operatorcmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/dbop-dev/kubectl-dbop/deploy"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

func newOperatorUpgrade(f *command.Factory) *cobra.Command {
	i := newInstallation(f)
	cmd := &cobra.Command{
		Use:   "upgrade",
		Short: "Put this version's operator in the place of an older one",
		Long: `Put this version's operator in the place of an older one. It shows what changes first; namespaces and replicas
stay as they were installed. No pod of a database restarts: how members run changes only when somebody asks for it, and
until then 'kubectl dbop status' shows what is outdated.`,
		Example: `  # Show what would change
  kubectl dbop operator upgrade --dry-run=client

  # Upgrade the operator to the version of this plugin
  kubectl dbop operator upgrade`,
		Args: command.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := command.OneOf("dry-run", i.dryRun, command.DryRunNone, command.DryRunClient,
				command.DryRunServer); err != nil {
				return err
			}
			i.options.Image = f.HelperImage(i.options.Image, nil)
			return i.upgrade(cmd.Context())
		},
	}
	i.addDryRun(cmd)
	cmd.Flags().StringVar(&i.options.Namespace, "operator-namespace", deploy.Namespace, "Namespace of the operator.")
	cmd.Flags().StringVar(&i.options.Image, "image", "", "Image of this tool (environment: "+command.EnvHelperImage+").")
	cmd.Flags().DurationVar(&i.timeout, "timeout", command.ShortTimeout, "How long to wait until it is ready.")
	return cmd
}

func (i *installation) upgrade(ctx context.Context) error {
	deployment := &unstructured.Unstructured{}
	deployment.SetAPIVersion("apps/v1")
	deployment.SetKind("Deployment")
	deployment.SetNamespace(i.options.Namespace)
	deployment.SetName(deploy.Name)
	deployment, err := i.f.Clients.Manifest(ctx, deployment)
	switch {
	case errors.Is(err, kube.ErrNotFound):
		return &ops.Error{Kind: ops.Failed, Check: exit.CheckNotFound,
			Message: "there is no operator in namespace " + i.options.Namespace,
			Hint:    "install one: " + command.DisplayName + " operator install; or name its namespace: --operator-namespace"}
	case err != nil:
		return err
	}
	before := deploy.Placed(deployment)
	i.options.Watched, i.options.Replicas, i.options.ClusterIssuers = before.Watched, before.Replicas,
		before.ClusterIssuers
	if err := i.forward(before.Image); err != nil {
		return err
	}
	objects, err := deploy.Manifests(i.options)
	if err != nil {
		return err
	}
	changed, err := i.compare(ctx, objects)
	switch {
	case err != nil:
		return err
	case len(changed) == 0:
		fmt.Fprintln(i.f.Streams.Out, "operator unchanged")
		return nil
	}
	for _, o := range changed {
		fmt.Fprintf(i.f.Streams.Err, "  %s\n", o.text)
	}
	i.f.Note("No pod of a database restarts.")
	if i.dryRun == command.DryRunClient {
		fmt.Fprintln(i.f.Streams.Out, "operator upgraded (dry run)")
		return nil
	}
	for _, o := range changed {
		if err := i.f.Clients.ApplyManifest(ctx, i.mode(), o.object); err != nil {
			return fmt.Errorf("upgrade %s %s: %w", o.object.GetKind(), o.object.GetName(), err)
		}
	}
	if i.dryRun == command.DryRunServer {
		fmt.Fprintln(i.f.Streams.Out, "operator upgraded (server dry run)")
		return nil
	}
	return i.ready(ctx, "upgraded")
}

// forward refuses the way back: an older operator may not understand what a
// newer one has written down.
func (i *installation) forward(installed string) error {
	switch back, known := deploy.Older(i.options.Image, installed); {
	case back:
		return &ops.Error{Kind: ops.Refused, Check: "downgrade",
			Message: fmt.Sprintf("the operator in namespace %s runs %s, which is newer than %s",
				i.options.Namespace, installed,
				i.options.Image),
			Hint: "use a plugin of that version or later; or take the operator away, and install the older one: " +
				command.DisplayName + " operator uninstall"}
	case !known:
		i.f.Note("%s or %s does not tell its version: it is on you that this is no way back.", installed, i.options.Image)
	}
	return nil
}

// manifestChange is an object that is not as wanted, and in words how.
type manifestChange struct {
	object *unstructured.Unstructured
	text   string
}

// compare says what is not as wanted.
func (i *installation) compare(ctx context.Context, objects []*unstructured.Unstructured) ([]manifestChange, error) {
	var out []manifestChange
	for _, o := range objects {
		name := fmt.Sprintf("%s/%s", strings.ToLower(o.GetKind()), o.GetName())
		there, err := i.f.Clients.Manifest(ctx, o)
		switch {
		case errors.Is(err, kube.ErrNotFound):
			out = append(out, manifestChange{o, name + " is made"})
		case err != nil:
			return nil, fmt.Errorf("read %s: %w", name, err)
		default:
			if d := deploy.Differences(o, there); len(d) > 0 {
				out = append(out, manifestChange{o, fmt.Sprintf("%s changes in %s", name, some(d))})
			}
		}
	}
	return out, nil
}

// some lists the first few of many.
func some(all []string) string {
	const shown = 4
	if len(all) <= shown {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:shown], ", "), len(all)-shown)
}
