package operation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

func newHistoryDescribe(f *command.Factory) *cobra.Command {
	out := printer.NewOutput()
	cmd := &cobra.Command{
		Use:   "describe OPERATION",
		Short: "Show one operation with its steps",
		Long:  "Show one operation with its steps: what was asked for, by whom, what was done and how long it took.",
		Example: `  # Describe an operation that 'kubectl dbop history' lists
  kubectl dbop history describe my-db.dbop-op-x7k2m`,
		Args:              command.Arguments(1, 1, "the name of the OPERATION"),
		ValidArgsFunction: command.CompleteOperations(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runHistoryDescribe(cmd.Context(), f, out, args[0])
		},
	}
	out.AddTo(cmd)
	return cmd
}

func runHistoryDescribe(ctx context.Context, f *command.Factory, out *printer.Output, name string) error {
	namespace, store, err := f.Here()
	if err != nil {
		return err
	}
	o, err := store.GetOperation(ctx, namespace, name)
	if errors.Is(err, kube.ErrNotFound) {
		return &ops.Error{Kind: ops.Failed, Check: exit.CheckNotFound,
			Message: fmt.Sprintf("operation %s not found in namespace %s", name, namespace),
			Hint:    command.DisplayName + " history"}
	}
	if err != nil {
		return err
	}
	if !out.Human() {
		return out.Print(f.Streams.Out, printer.KindOperation, o)
	}
	describeOperation(f.Streams.Out, *o, f.Now())
	return nil
}

func describeOperation(w io.Writer, o v1alpha1.Operation, now time.Time) {
	lines := [][2]string{
		{"Name", o.Name},
		{"Cluster", o.Spec.Cluster + " in namespace " + o.Namespace},
		{"Verb", string(o.Spec.Verb)},
		{"Phase", string(o.Status.Phase)},
		{"Takes back", o.Spec.Undoes},
		{"Message", o.Status.Message},
		{"Asked for by", printer.OrUnknown(o.Spec.RequestedBy) + " on " + printer.OrUnknown(o.Spec.RequestedFrom)},
		{"Command", o.Spec.Command},
		{"Started",
			fmt.Sprintf("%s (%s ago)", o.Status.StartedAt.UTC().Format(time.RFC3339),
				printer.Age(now, o.Status.StartedAt.Time))},
		{"Took", took(o)},
		{"Members", fromTo(number(o.Spec.FromMembers), number(o.Spec.Members))},
		{"Version", fromTo(o.Spec.FromVersion, o.Spec.Version)},
		{"Backup", o.Spec.Backup},
		{"Repository", o.Spec.Repository},
		{"Checks waived", printer.OrNone(o.Spec.Waive)},
	}
	for _, l := range lines {
		if l[1] != "" {
			fmt.Fprintf(w, "%-14s %s\n", l[0]+":", printer.OneLine(l[1]))
		}
	}
	fmt.Fprintln(w, "Steps:")
	if len(o.Status.Journal) == 0 {
		fmt.Fprintln(w, "  none yet")
	}
	for i, e := range o.Status.Journal {
		result := "not finished"
		if e.FinishedAt != nil {
			result = printer.Span(e.FinishedAt.Sub(e.StartedAt.Time))
		}
		fmt.Fprintf(w, "%3d. %s  (%s)\n", i+1, printer.OneLine(e.Title), result)
		if e.Error != "" {
			fmt.Fprintf(w, "     %s\n", printer.OneLine(e.Error))
		}
	}
}

func fromTo(from, to string) string {
	switch {
	case to == "" || from == to:
		return from
	case from == "":
		return to
	}
	return from + " to " + to
}

func number(n int32) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(int(n))
}
