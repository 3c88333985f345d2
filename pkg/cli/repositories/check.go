package repositories

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

func newCheck(f *command.Factory) *cobra.Command {
	out := printer.NewTables()
	timeout, lock := time.Minute, false
	cmd := &cobra.Command{
		Use:   "check NAME",
		Short: "Try what a repository's store really does",
		Long: `Try what a repository's store really does: it stores, reads, lists and deletes small objects, and tries
what must be refused. A store that accepts a condition and ignores it would lose backups, and fails the check.`,
		Example: `  # Check a repository
  kubectl dbop repository check offsite`,
		Args:              command.Arguments(1, 1, "the NAME of the repository"),
		ValidArgsFunction: complete(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			r, err := find(ctx, f, kube.DryRunNone, args) // the store of a claim takes a pod
			if err != nil {
				return err
			}
			secrets, err := r.named.Secrets(ctx, r.namespace, r.description)
			if err != nil {
				return err
			}
			return probe(ctx, f, out, r, secrets, lock)
		},
	}
	out.AddTo(cmd)
	cmd.Flags().BoolVar(&lock, "require-object-lock", false, "Fail where the store does not enforce retention.")
	cmd.Flags().DurationVar(&timeout, "timeout", timeout, "Timeout of the check, such as 10s.")
	return cmd
}

// checkSheet is what a check says, for machines.
type checkSheet struct {
	Name  string       `json:"name"`
	URL   string       `json:"url"`
	Facts []store.Fact `json:"facts"`
}

// probe tries the store and shows what it does, also where that is not enough.
func probe(ctx context.Context, f *command.Factory, out *printer.Output, r existing, s bucket.Secrets,
	retention bool) error {
	d := r.description
	facts, err := r.named.Probe(ctx, r.namespace, d, s, retention)
	if shown := show(f, out, checkSheet{Name: d.Name, URL: d.URL, Facts: facts}); shown != nil {
		return shown
	}
	if err != nil {
		return &ops.Error{Kind: ops.Refused, Check: "repository", Err: err,
			Message: "repository " + d.Name + " can't be used",
			Hint:    "use another store or bucket, or correct what " + command.DisplayName + " repository add was given"}
	}
	return nil
}

func show(f *command.Factory, out *printer.Output, sheet checkSheet) error {
	if !out.Human() {
		return out.Print(f.Results(), "RepositoryCheck", sheet)
	}
	if len(sheet.Facts) == 0 {
		return nil
	}
	t := out.NewTable("STORE", "ANSWER", "NEEDED", "DETAIL")
	for _, fact := range sheet.Facts {
		answer, needed := "no", "no"
		if fact.OK {
			answer = "yes"
		}
		if fact.Required {
			needed = "yes"
		}
		t.Row(fact.What, answer, needed, printer.OneLine(fact.Detail))
	}
	return t.Print(f.Results(), "")
}
