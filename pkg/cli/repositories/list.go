package repositories

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

func newList(f *command.Factory) *cobra.Command {
	out := printer.NewTables(printer.FormatWide, printer.FormatName)
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the repositories of the namespace",
		Long:  "List the repositories of the namespace that have a name. Nothing is asked of their stores.",
		Example: `  # List the repositories
  kubectl dbop repository list`,
		Args: command.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			named, namespace, err := place(f, kube.DryRunClient)
			if err != nil {
				return err
			}
			all, err := named.List(cmd.Context(), namespace)
			if all == nil && err != nil {
				return err
			}
			if shown := showList(f, out, namespace, all); shown != nil {
				return shown
			}
			return err
		},
	}
	out.AddTo(cmd)
	return cmd
}

// listSheet is what list says, for machines.
type listSheet struct {
	Items []bucket.Description `json:"items"`
}

func showList(f *command.Factory, out *printer.Output, namespace string, all []bucket.Description) error {
	switch {
	case out.Name():
		for _, d := range all {
			fmt.Fprintln(f.Results(), "repository/"+d.Name)
		}
		return nil
	case !out.Human():
		return out.Print(f.Results(), "RepositoryList", listSheet{Items: append([]bucket.Description{}, all...)})
	case len(all) == 0:
		f.NoResources(namespace)
		return nil
	}
	columns := []string{"NAME", "URL", "ENCRYPTED", "KEY HERE"}
	if out.Wide() {
		columns = append(columns, "ENDPOINT", "CREDENTIALS", "TRUSTED KEYS", "RETAINED")
	}
	t := out.NewTable(columns...)
	for _, d := range all {
		encrypted, key := "no", "no"
		if !d.Plain {
			encrypted = fmt.Sprintf("to %d keys", len(d.Recipients))
			if len(d.Recipients) == 1 {
				encrypted = "to one key"
			}
		}
		if d.Identity {
			key = "yes"
		}
		row := []string{d.Name, d.URL, encrypted, key}
		if out.Wide() {
			credentials := "identity of the workload"
			if d.Credentials != "" {
				credentials = "secret/" + d.Credentials
			}
			row = append(row, printer.OneLine(cmp.Or(d.Endpoint, "Amazon's")), credentials,
				strings.Join(trustedIDs(d), ","), printer.OneLine(cmp.Or(d.Retain, "no")))
		}
		t.Row(row...)
	}
	return t.Print(f.Results(), "")
}
