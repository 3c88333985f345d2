package diagnostics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// listing is a request of list.
type listing struct {
	f                   *command.Factory
	out                 *printer.Output
	namespace, selector string
	watch, noHealth     bool
}

// NewList makes the command list.
func NewList(f *command.Factory) *cobra.Command {
	l := listing{f: f, out: printer.NewTables(printer.FormatWide, printer.FormatName)}
	var all bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List database clusters",
		Long: `List database clusters. READY counts pods. STATE is what the members say: those of all clusters are asked at
once, each for at most 3 seconds. --no-health asks none.`,
		Example: `  # List the clusters of the current namespace
  kubectl dbop list

  # List all clusters with image and newest backup
  kubectl dbop list -A -o wide

  # Follow them until Ctrl-C
  kubectl dbop list -w`,
		Args:              command.Arguments(0, 0, ""),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if l.namespace, err = f.Namespace(); err != nil {
				return err
			}
			if all {
				l.namespace = metav1.NamespaceAll
			}
			return l.run(cmd.Context())
		},
	}
	l.out.AddTo(cmd)
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "List the clusters of all namespaces.")
	cmd.Flags().StringVarP(&l.selector, "selector", "l", "", "Label selector, such as dbop.dev/engine=etcd.")
	cmd.Flags().BoolVarP(&l.watch, "watch", "w", false, "List again every 2 seconds until interrupted.")
	cmd.Flags().BoolVar(&l.noHealth, "no-health", false, "Don't ask the members; there is no column STATE then.")
	return cmd
}

func (l *listing) run(ctx context.Context) error {
	records, err := l.f.Clients.Store(kube.DryRunClient)
	if err != nil {
		return err
	}
	for {
		clusters, err := records.ListClusters(ctx, l.namespace, l.selector)
		if err != nil && !errors.Is(err, store.ErrDamaged) {
			return err
		}
		// One record that can't be read hides no other; what names it comes last.
		if err := errors.Join(l.show(ctx, clusters), err); err != nil || !l.watch {
			return err
		}
		select {
		case <-ctx.Done():
			return exit.Outcome(exit.Interrupted)
		case <-time.After(watchEvery):
		}
	}
}

// listed is one cluster of a list, for machines.
type listed struct {
	v1alpha1.DatabaseCluster `json:",inline"`
	// Ready counts pods, State is how the cluster is in one word.
	Ready int    `json:"ready"`
	State string `json:"state,omitempty"`
}

func (l *listing) show(ctx context.Context, clusters []v1alpha1.DatabaseCluster) error {
	if l.out.Name() {
		for _, c := range clusters {
			fmt.Fprintf(l.f.Streams.Out, "%s/%s\n", c.Spec.Engine, c.Name)
		}
	}
	if len(clusters) == 0 && l.out.Human() {
		l.f.NoResources(l.namespace)
	}
	if l.out.Human() && (l.out.Name() || len(clusters) == 0) {
		return nil
	}
	pods, err := memberPods(ctx, l.f, l.namespace)
	if err != nil {
		return err
	}
	states, err := l.states(ctx, clusters, pods)
	if err != nil {
		return err
	}
	if !l.out.Human() {
		items := make([]listed, len(clusters))
		for i, c := range clusters {
			c.APIVersion, c.Kind = printer.OutputVersion, printer.KindCluster
			items[i] = listed{DatabaseCluster: c, Ready: pods[c.Namespace+"/"+c.Name].ready}
			if states != nil {
				items[i].State = states[i]
			}
		}
		return l.out.Print(l.f.Streams.Out, printer.KindCluster+"List", printer.List[listed]{Items: items})
	}
	t := clusterTable(l.f, clusters, pods, states, l.namespace == metav1.NamespaceAll, l.out)
	return redraw(l.f, l.watch, func(w io.Writer) error { return t.Print(w, "") })
}

// states says how each cluster is; nil if nobody is to be asked.
func (l *listing) states(ctx context.Context, clusters []v1alpha1.DatabaseCluster,
	pods map[string]podCount) ([]string, error) {
	if l.noHealth {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, observeAllWithin)
	defer cancel()
	// Where nothing runs there is nobody to ask.
	found, err := observeAll(ctx, l.f, clusters, observeOneWithin,
		func(c *v1alpha1.DatabaseCluster) bool { return pods[c.Namespace+"/"+c.Name].running > 0 })
	if err != nil {
		return nil, err
	}
	states := make([]string, len(found))
	for i, o := range found {
		states[i] = o.state()
		if o.err != nil {
			l.f.Note("the state of %s is not known: %s", o.target.Subject(), printer.OneLine(o.err.Error()))
		}
		if o.sheet != nil && o.sheet.Custom != nil && o.sheet.Custom.Missing {
			name := o.target.Cluster.Name
			l.f.Note("%s",
				ops.InNamespace("databasecluster "+name+" is missing, and no operator acts on its cluster: kubectl "+
					"dbop status "+
					name, o.target.Namespace))
		}
	}
	return states, nil
}

// clusterTable has no column STATE without states.
func clusterTable(f *command.Factory, clusters []v1alpha1.DatabaseCluster, pods map[string]podCount,
	states []string, all bool, out *printer.Output) *printer.Table {
	columns := []string{"NAME", "ENGINE", "VERSION", "READY"}
	if states != nil {
		columns = append(columns, "STATE")
	}
	if out.Wide() {
		columns = append(columns, "BACKUP-AGE", "VERIFIED-AGE", "IMAGE")
	}
	columns = append(columns, "AGE")
	if all {
		columns = append([]string{"NAMESPACE"}, columns...)
	}
	t := out.NewTable(columns...)
	for i, c := range clusters {
		row := []string{c.Name, c.Spec.Engine, c.Spec.Version,
			fmt.Sprintf("%d/%d", pods[c.Namespace+"/"+c.Name].ready, c.Spec.Members)}
		if i < len(states) {
			row = append(row, states[i])
		}
		if out.Wide() {
			row = append(row, backupAge(f, c.Status.LastBackup), backupAge(f, c.Status.LastVerifiedBackup), c.Spec.Image)
		}
		row = append(row, f.Age(c.CreationTimestamp.Time))
		if all {
			row = append([]string{c.Namespace}, row...)
		}
		t.Row(row...)
	}
	return t
}

func backupAge(f *command.Factory, b *v1alpha1.BackupReference) string {
	if b == nil {
		return ""
	}
	return f.Age(b.Time.Time)
}

// podCount is how many member pods of a cluster run, and how many are ready.
type podCount struct{ running, ready int }

// memberPods counts the member pods of each cluster, by namespace/name.
func memberPods(ctx context.Context, f *command.Factory, namespace string) (map[string]podCount, error) {
	found, err := f.Clients.Pods(ctx, namespace, v1alpha1.LabelMember)
	if err != nil {
		return nil, err
	}
	out := map[string]podCount{}
	for _, p := range found {
		key := p.Namespace + "/" + p.Labels[v1alpha1.LabelCluster]
		n := out[key]
		if p.Status.Phase == corev1.PodRunning {
			n.running++
		}
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				n.ready++
			}
		}
		out[key] = n
	}
	return out, nil
}
