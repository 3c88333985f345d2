package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

func newList(f *Factory) *cobra.Command {
	out := newOutput(formatWide, formatName)
	var all bool
	var selector string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List database clusters",
		Long:  "List database clusters. READY counts pods; what the members themselves say is told by 'kubectl dbop status'.",
		Example: `  # List the clusters of the current namespace
  kubectl dbop list

  # List all clusters with image and newest backup
  kubectl dbop list -A -o wide`,
		Args:              arguments(0, 0, ""),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := out.check(); err != nil {
				return err
			}
			namespace, err := f.namespace()
			if err != nil {
				return err
			}
			if all {
				namespace = metav1.NamespaceAll
			}
			return runList(cmd.Context(), f, out, namespace, selector)
		},
	}
	out.addTo(cmd)
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "List the clusters of all namespaces.")
	cmd.Flags().StringVarP(&selector, "selector", "l", "", "Label selector, such as dbop.dev/engine=etcd.")
	return cmd
}

func runList(ctx context.Context, f *Factory, out *output, namespace, selector string) error {
	store, err := f.newStore(kube.DryRunClient)
	if err != nil {
		return err
	}
	clusters, err := store.ListClusters(ctx, namespace, selector)
	if err != nil {
		return err
	}
	if !out.human() {
		items := make([]v1alpha1.DatabaseCluster, len(clusters))
		for i, c := range clusters {
			c.APIVersion, c.Kind = outputVersion, kindCluster
			items[i] = c
		}
		return out.print(f.Streams.Out, kindCluster+"List", list[v1alpha1.DatabaseCluster]{Items: items})
	}
	if len(clusters) == 0 {
		f.noResources(namespace)
		return nil
	}
	if out.name() {
		for _, c := range clusters {
			fmt.Fprintf(f.Streams.Out, "%s/%s\n", c.Spec.Engine, c.Name)
		}
		return nil
	}
	ready, err := readyPods(ctx, f, namespace)
	if err != nil {
		return err
	}
	return clusterTable(f, clusters, ready, namespace == metav1.NamespaceAll, out.wide()).print(f.Streams.Out, "")
}

func clusterTable(f *Factory, clusters []v1alpha1.DatabaseCluster, ready map[string]int, all, wide bool) *table {
	columns := []string{"NAME", "ENGINE", "VERSION", "READY", "STATE"}
	if wide {
		columns = append(columns, "BACKUP-AGE", "VERIFIED-AGE", "IMAGE")
	}
	columns = append(columns, "AGE")
	if all {
		columns = append([]string{"NAMESPACE"}, columns...)
	}
	t := newTable(columns...)
	for _, c := range clusters {
		state := "Forming"
		if c.Status.Formation != nil && c.Status.Formation.ClusterID != "" {
			state = "Formed"
		}
		row := []string{c.Name, c.Spec.Engine, c.Spec.Version, fmt.Sprintf("%d/%d", ready[c.Namespace+"/"+c.Name], c.Spec.Members), state}
		if wide {
			row = append(row, f.backupAge(c.Status.LastBackup), f.backupAge(c.Status.LastVerifiedBackup), c.Spec.Image)
		}
		row = append(row, f.age(c.CreationTimestamp.Time))
		if all {
			row = append([]string{c.Namespace}, row...)
		}
		t.row(row...)
	}
	return t
}

func (f *Factory) backupAge(b *v1alpha1.BackupReference) string {
	if b == nil {
		return ""
	}
	return f.age(b.Time.Time)
}

// noResources tells a person that the list is empty; a program sees no line.
func (f *Factory) noResources(namespace string) {
	if namespace == metav1.NamespaceAll {
		f.note("No resources found.")
		return
	}
	f.note("No resources found in %s namespace.", namespace)
}

// readyPods counts the ready members of each cluster, by namespace/name.
func readyPods(ctx context.Context, f *Factory, namespace string) (map[string]int, error) {
	reader, err := f.newPods()
	if err != nil {
		return nil, err
	}
	found, err := reader.List(ctx, namespace, v1alpha1.LabelMember)
	if err != nil {
		return nil, err
	}
	out := map[string]int{}
	for _, p := range found {
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				out[p.Namespace+"/"+p.Labels[v1alpha1.LabelCluster]]++
			}
		}
	}
	return out, nil
}
