package helpercmd

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

func newHelperProve(f *command.Factory) *cobra.Command {
	var from, id, by, report string
	cmd := &cobra.Command{
		Use:   "prove --from-repository DIR --backup ID --report FILE",
		Short: "Read a backup in an object store and compare each byte",
		Long: "Read a backup in an object store, compare each byte with its manifest, and store the proof. Keys are in " +
			"files that are mounted: no right to the API is needed.",
		Example: `  # Prove that a backup is whole
  kubectl dbop helper prove --from-repository /etc/dbop/repository --backup my-db-20261121T101500Z-0a1b`,
		Args: command.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from == "" || id == "" {
				return exit.Misuse("--from-repository and --backup are required")
			}
			saveMemory(f.Getenv)
			return proveBackup(helper.TellOutages(cmd.Context(), f.Verbatim), from, id, report, repository.Proof{By: by,
				Verification: repository.Verification{Tool: f.Build.Version}})
		},
	}
	cmd.Flags().StringVar(&from, "from-repository", "",
		"Directory where a repository's description and keys are mounted.")
	cmd.Flags().StringVar(&id, "backup", "", "The backup to read.")
	cmd.Flags().StringVar(&by, "by", "", "Who asked for the proof.")
	cmd.Flags().StringVar(&report, "report", "", "File that takes the report.")
	return cmd
}

func proveBackup(ctx context.Context, dir, id, report string, by repository.Proof) (err error) {
	d, secrets, err := bucket.ReadDirectory(dir)
	if err != nil {
		return err
	}
	repo, err := bucket.Open(d, secrets, "", "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, repo.Close()) }()
	if err := unproved(d.Name, id, repo.Prove(ctx, id, by)); err != nil || report == "" {
		return err
	}
	if err := os.WriteFile(report, []byte("backup "+id+" is intact\n"), 0o600); err != nil {
		return fmt.Errorf("report backup %s: %w", id, err)
	}
	return nil
}

// unproved has a command end with the exit code after which its Job ends too, where reading the whole backup again
// finds nothing else.
func unproved(repo, id string, err error) error {
	if err == nil || ops.Transient(err) && !errors.Is(err, repository.ErrFormat) {
		return err
	}
	return &ops.Error{Kind: ops.NeedsHuman, Check: "backup", Message: "prove backup " + id, Err: err,
		Hint: "choose another backup: kubectl dbop backup list --repository " + repo}
}
