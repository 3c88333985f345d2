package operation

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
)

// NewHistory makes the command history.
func NewHistory(f *command.Factory) *cobra.Command {
	out := printer.NewTables(printer.FormatWide, printer.FormatName)
	var all bool
	cmd := &cobra.Command{
		Use:   "history [NAME]",
		Short: "List past and running operations",
		Long: "List past and running operations, newest first, of one cluster or of the namespace. Records outlive their " +
			"cluster; -o json or yaml exports them whole, with every step.",
		Example: `  # List what was done to my-db
  kubectl dbop history my-db

  # List the operations of the namespace with who asked for them
  kubectl dbop history -o wide

  # Export the records of all namespaces
  kubectl dbop history -A -o json > history.json`,
		Args:              command.Arguments(0, 1, "NAME"),
		ValidArgsFunction: command.CompleteClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) > 0 {
				name = command.BareName(args[0])
			}
			if all && name != "" {
				return exit.Misuse("a NAME and --all-namespaces exclude each other")
			}
			return runHistory(cmd.Context(), f, out, name, all)
		},
	}
	out.AddTo(cmd)
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "List the operations of all namespaces.")
	cmd.AddCommand(newHistoryDescribe(f))
	return cmd
}

func runHistory(ctx context.Context, f *command.Factory, out *printer.Output, name string, all bool) error {
	namespace, store, err := f.Here()
	if err != nil {
		return err
	}
	if all {
		namespace = metav1.NamespaceAll
	}
	records, err := store.ListOperations(ctx, namespace, name)
	if err != nil {
		return err
	}
	switch {
	case !out.Human():
		for i := range records {
			records[i].APIVersion, records[i].Kind = printer.OutputVersion, printer.KindOperation
		}
		return out.Print(f.Streams.Out, printer.KindOperation+"List", printer.List[v1alpha1.Operation]{Items: records})
	case len(records) == 0:
		f.NoResources(namespace)
		return nil
	case out.Name():
		for _, o := range records {
			fmt.Fprintf(f.Streams.Out, "operation/%s\n", o.Name)
		}
		return nil
	}
	return historyTable(f.Now(), records, holders(ctx, f, store, records), all, out).Print(f.Streams.Out, "")
}

// holders says who works on the clusters of the operations that did not end,
// by namespace/name of the operation. It leaves out what could not be read, and what an
// operator takes up by itself.
func holders(ctx context.Context, f *command.Factory, store store.Store,
	records []v1alpha1.Operation) map[string]string {
	out := map[string]string{}
	for _, o := range records {
		if !o.Active() {
			continue
		}
		if c, err := store.GetCluster(ctx, o.Namespace, o.Spec.Cluster); err == nil &&
			c.Annotations[v1alpha1.AnnotationCustom] != "" {
			continue
		}
		if h, err := f.Clients.Holding(ctx, o.Namespace, o.Spec.Cluster, runner.ScopeOf(&o)); err == nil {
			out[o.Namespace+"/"+o.Name] = h.Holder
		}
	}
	return out
}

func historyTable(now time.Time, records []v1alpha1.Operation, holders map[string]string,
	all bool, out *printer.Output) *printer.Table {
	columns := []string{"NAME", "CLUSTER", "VERB", "PHASE", "STEPS", "TOOK"}
	if out.Wide() {
		columns = append(columns, "BY", "FROM", "HELD-BY", "BACKUP")
	}
	if all {
		columns = append([]string{"NAMESPACE"}, columns...)
	}
	t := out.NewTable(append(columns, "AGE")...)
	for _, o := range records {
		phase := string(o.Status.Phase)
		holder, known := holders[o.Namespace+"/"+o.Name]
		if o.Active() && o.Status.Phase != v1alpha1.PhasePaused && known && holder == "" {
			phase = command.PhaseStopped
		}
		if !o.Active() {
			holder = ""
		}
		row := []string{o.Name, o.Spec.Cluster, string(o.Spec.Verb), phase, strconv.Itoa(len(o.Status.Journal)), took(o)}
		if out.Wide() {
			row = append(row, o.Spec.RequestedBy, o.Spec.RequestedFrom, holder, o.Status.Facts[v1alpha1.FactBackup])
		}
		if all {
			row = append([]string{o.Namespace}, row...)
		}
		t.Row(append(row, printer.Age(now, o.Status.StartedAt.Time))...)
	}
	return t
}

// took is how long an ended operation lasted.
func took(o v1alpha1.Operation) string {
	if o.Status.FinishedAt == nil {
		return "<pending>"
	}
	return printer.Span(o.Status.FinishedAt.Sub(o.Status.StartedAt.Time))
}
