package helpercmd

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

func newHelperLog(f *command.Factory) *cobra.Command {
	var name, file, to string
	var from logFlags
	cmd := &cobra.Command{
		Use:   "log --engine ENGINE --name NAME --to FILE",
		Short: "Read a file of an archived log",
		Long: fmt.Sprintf("Read a file of an archived log, and compare it with its signature. A database that recovers "+
			"calls it. The exit code %d says that there is no such file.", engine.LogFileMissing),
		Example: `  # Read a file of the log
  kubectl dbop helper log --engine postgres --name 000000010000000000000002 --to pg_wal/RECOVERYXLOG`,
		Args: command.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if name == "" || file == "" || to == "" || from.repository == "" {
				return exit.Misuse("--engine, --name, --to and --log-repository are required")
			}
			e, err := f.EngineNamed(name)
			if err != nil {
				return err
			}
			a, ok := e.(engine.LogArchiver)
			if !ok {
				return exit.Misuse("a log of %s is not archived", name)
			}
			return readLog(cmd.Context(), from, a.LogTimeline(file), file, to)
		},
	}
	cmd.Flags().StringVar(&name, "engine", "", "Engine that wrote the log.")
	cmd.Flags().StringVar(&file, "name", "", "Name of the file.")
	cmd.Flags().StringVar(&to, "to", "", "File to write.")
	from.addTo(cmd)
	return cmd
}

func readLog(ctx context.Context, from logFlags, timeline, name, to string) error {
	return from.open(func(log *archive.Log) error {
		found, err := log.Find(ctx, timeline, name)
		if errors.Is(err, archive.ErrNotFound) {
			return exit.Outcome(engine.LogFileMissing)
		}
		if err != nil {
			return err
		}
		body, err := log.Read(ctx, found)
		if err != nil {
			return err
		}
		if err := os.WriteFile(to, body, 0o600); err != nil {
			return fmt.Errorf("write a file of the log: %w", err)
		}
		return nil
	})
}

// open lets read use the log.
func (l *logFlags) open(read func(*archive.Log) error) (err error) {
	d, secrets, err := bucket.ReadDirectory(l.repository)
	if err != nil {
		return err
	}
	repo, err := bucket.Open(d, secrets, "", "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, repo.Close()) }()
	return read(repo.Log(l.namespace, l.cluster, l.incarnation))
}
