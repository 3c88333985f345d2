package repositories

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
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
	timeout, lock, identity := time.Minute, false, ""
	cmd := &cobra.Command{
		Use:   "check NAME",
		Short: "Try what a repository's store really does",
		Long: `Try what a repository's store really does: it stores, reads, lists and deletes small objects, and tries
what must be refused. A store that accepts a condition and ignores it would lose backups, and fails the check. So does
one that does not enforce the retention of the repository.

With --identity-file it is a drill for the day on which all other keys are lost: does this secret key read what is
backed up from now on, the backups that are there, up to the 200 newest, and the newest pieces of their logs? The
key stays on this machine, and of what is stored nothing but a header is read.`,
		Example: `  # Check a repository
  kubectl dbop repository check offsite

  # Prove that the key in the safe still reads the backups
  kubectl dbop repository check offsite --identity-file key-from-the-safe.txt`,
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
			if identity != "" {
				return drill(ctx, f, out, r, secrets, identity)
			}
			return probe(ctx, f, out, r, secrets, lock)
		},
	}
	out.AddTo(cmd)
	cmd.Flags().BoolVar(&lock, "require-object-lock", false, "Fail where the store does not enforce retention.")
	cmd.Flags().StringVar(&identity, "identity-file", "", "Secret key of age to try on the backups, instead of the store.")
	_ = cmd.MarkFlagFilename("identity-file")
	cmd.MarkFlagsMutuallyExclusive("identity-file", "require-object-lock")
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
	facts, err := r.named.Probe(ctx, r.namespace, d, s, retention || d.Retains())
	if err == nil {
		facts = append(facts, store.Fact{What: "backups are signed", OK: true, Required: true, Detail: signingKeys(d, s)})
	}
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

// drill tries a secret key on the backups, and shows what it reads, also where that is not all.
func drill(ctx context.Context, f *command.Factory, out *printer.Output, r existing, s bucket.Secrets,
	file string) error {
	d := r.description
	if d.Plain {
		return &ops.Error{Kind: ops.Refused, Check: "repository", Message: "repository " + d.Name + " is not encrypted",
			Hint: "no key is needed to read it"}
	}
	content, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return fmt.Errorf("read --identity-file: %w", err)
	}
	got, err := r.named.Drill(ctx, r.namespace, d, s, string(content))
	if err != nil {
		return err
	}
	detail := fmt.Sprintf("%d of the %d newest", got.Read, got.Tried)
	if got.All == got.Tried {
		detail = fmt.Sprintf("%d of %d", got.Read, got.All)
	}
	if got.Lost != "" {
		detail += "; the newest that it does not read is " + got.Lost
	}
	if got.Unknown > 0 {
		detail += fmt.Sprintf("; no key reads %d, whose manifest or header does not count", got.Unknown)
	}
	facts := []store.Fact{{What: "the key reads what is backed up from now on", OK: got.Current, Required: true},
		{What: "the key reads the backups that are there", OK: got.Lost == "", Required: true, Detail: detail}}
	if got.LogTried > 0 {
		detail := fmt.Sprintf("%d of the %d newest pieces", got.LogRead, got.LogTried)
		if got.LogLost != "" {
			detail += "; one that it does not read is " + got.LogLost
		}
		facts = append(facts, store.Fact{What: "the key reads the archived log", OK: got.LogLost == "", Required: true,
			Detail: detail})
	}
	if shown := show(f, out, checkSheet{Name: d.Name, URL: d.URL, Facts: facts}); shown != nil {
		return shown
	}
	if got.Current && got.Lost == "" && got.LogLost == "" {
		return nil
	}
	return &ops.Error{Kind: ops.Refused, Check: "identity",
		Message: "the key of " + file + " does not read all backups of repository " + d.Name,
		Hint: "keep the other secret keys as well; " + command.DisplayName + " repository add " + d.Name + " --url " + d.URL +
			" --recipient PUBLIC-KEY, once for each key that is to read new backups, changes who reads them"}
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
