package operatorcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/dbop-dev/kubectl-dbop/deploy"
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// uninstallation is what uninstall takes away.
type uninstallation struct {
	*installation

	definitions, yes bool
	// objects are what is there of the installation, in the order of their deletion.
	objects []*unstructured.Unstructured
	// clusters are those under a custom resource.
	clusters []v1alpha1.DatabaseCluster
}

func newOperatorUninstall(f *command.Factory) *cobra.Command {
	r := &uninstallation{installation: newInstallation(f)}
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Uninstall the operator",
		Long: `Uninstall the operator. Databases keep running. Their custom resources stay, and nobody acts on them.
'kubectl dbop operator release' gives a cluster back to the command line, before or afterwards.

With --definitions the definitions are deleted too, and with them all custom resources. Each cluster is released
first, and every database keeps running.`,
		Example: `  # Uninstall the operator and leave everything else
  kubectl dbop operator uninstall

  # Show which clusters would be released, and what would be deleted
  kubectl dbop operator uninstall --definitions --dry-run=client`,
		Args: command.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := command.OneOf("dry-run", r.dryRun, command.DryRunNone, command.DryRunClient,
				command.DryRunServer); err != nil {
				return err
			}
			return r.run(cmd.Context())
		},
	}
	r.addTo(cmd)
	r.addDryRun(cmd)
	cmd.Flags().BoolVar(&r.definitions, "definitions", false,
		"Delete the definitions of DatabaseCluster and DatabaseBackup too, and all objects of them.")
	cmd.Flags().BoolVarP(&r.yes, "yes", "y", false, "Don't ask for confirmation.")
	return cmd
}

func (r *uninstallation) run(ctx context.Context) error {
	if err := r.find(ctx); err != nil {
		return err
	}
	if len(r.objects) == 0 {
		fmt.Fprintf(r.f.Streams.Out, "operator unchanged: nothing of it is in namespace %s\n", r.options.Namespace)
		return nil
	}
	if r.dryRun == command.DryRunNone && !r.yes {
		if err := r.confirm(ctx); err != nil {
			return err
		}
	}
	if r.definitions {
		if err := r.release(ctx); err != nil {
			return err
		}
	}
	for _, o := range r.objects {
		if r.dryRun != command.DryRunNone {
			fmt.Fprintf(r.f.Streams.Out, "%s/%s deleted (dry run)\n", o.GetKind(), o.GetName())
		}
		if r.dryRun == command.DryRunClient {
			continue
		}
		if err := r.f.Clients.DeleteManifest(ctx, r.mode(), o); err != nil {
			return fmt.Errorf("delete %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	if r.dryRun == command.DryRunNone {
		fmt.Fprintln(r.f.Streams.Out, "operator uninstalled")
		if !r.definitions && len(r.clusters) > 0 {
			r.f.Note("%d databases keep running. Nobody acts on their custom resources until an operator is installed again.",
				len(r.clusters))
		}
	}
	return nil
}

// find searches for what is there. It goes backwards, so that the operator is gone
// before its rights. Its namespace stays: other things may be there.
func (r *uninstallation) find(ctx context.Context) error {
	objects, err := deploy.Manifests(r.options)
	if err != nil {
		return err
	}
	for _, o := range slices.Backward(objects) {
		if o.GetKind() == "Namespace" || o.GetKind() == "CustomResourceDefinition" && !r.definitions {
			continue
		}
		switch _, err := r.f.Clients.Manifest(ctx, o); {
		case errors.Is(err, kube.ErrNotFound):
		case err != nil:
			return fmt.Errorf("find %s %s: %w", o.GetKind(), o.GetName(), err)
		default:
			r.objects = append(r.objects, o)
		}
	}
	records, err := r.f.Clients.Store(kube.DryRunClient)
	if err != nil {
		return err
	}
	for _, namespace := range r.namespaces() {
		all, err := records.ListClusters(ctx, namespace, "")
		if errors.Is(err, store.ErrDamaged) {
			// Nobody can release it, and its database goes on without its definition.
			r.f.Note("left out: %s", printer.OneLine(err.Error()))
		} else if err != nil {
			return fmt.Errorf("find clusters under a custom resource: %w", err)
		}
		for _, c := range all {
			if c.Annotations[v1alpha1.AnnotationCustom] != "" {
				r.clusters = append(r.clusters, c)
			}
		}
	}
	return nil
}

// namespaces are where clusters of this operator are. Definitions are those of all.
func (r *uninstallation) namespaces() []string {
	if len(r.options.Watched) == 0 || r.definitions {
		return []string{metav1.NamespaceAll}
	}
	return r.options.Watched
}

func (r *uninstallation) confirm(ctx context.Context) error {
	q := command.Question{What: "Uninstall the operator of namespace " + r.options.Namespace, NoData: true,
		Lost: []string{"nobody acts on custom resources any more"}}
	for _, c := range r.clusters {
		q.Kept = append(q.Kept, "database "+c.Namespace+"/"+c.Name+", which keeps running")
	}
	if r.definitions {
		q.What += ", and delete the definitions"
		q.Lost = []string{"all DatabaseBackups, and all DatabaseClusters: their clusters are released first"}
	}
	return r.f.Confirm(ctx, command.Intent{Namespace: r.options.Namespace}, q)
}

// release gives every cluster back to the command line. One that can't be
// released keeps the definitions, and everything else, where they are.
func (r *uninstallation) release(ctx context.Context) error {
	for _, c := range r.clusters {
		name := c.Namespace + "/" + c.Name
		if r.dryRun != command.DryRunNone {
			fmt.Fprintf(r.f.Streams.Out, "%s released (dry run)\n", name)
			continue
		}
		e, err := r.f.EngineNamed(c.Spec.Engine)
		if err != nil {
			return err
		}
		t := &clients.Target{Namespace: c.Namespace, Cluster: &c, Engine: e}
		if err := r.f.Clients.Release(ctx, t); err != nil && ops.KindOf(err) != ops.Unchanged {
			return fmt.Errorf("release %s, before the definitions are deleted: %w", name, err)
		}
		fmt.Fprintf(r.f.Streams.Out, "%s released\n", name)
	}
	return nil
}
