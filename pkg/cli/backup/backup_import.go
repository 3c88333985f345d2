package backup

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

func newBackupImport(f *command.Factory) *cobra.Command {
	var from, repo string
	var all bool
	log := true
	cmd := &cobra.Command{
		Use:   "import [ID...] --from SOURCE",
		Short: "Copy backups of another repository into an object store",
		Long: `Copy backups of another repository into one that has a name. SOURCE is the name of a repository of the
namespace, or a directory with the objects of one, such as a bucket that another tool has copied.

Backups are copied as they are: encryption, signatures and identifiers stay, and no secret key is needed. Every volume
is compared with its manifest on the way, and the manifest comes last. A backup that adds to a full one brings that
along, and so does each the archived log that goes on from it. A repeat goes on where the last one ended, and brings
what was archived since. The repository must trust the key that signed, see 'kubectl dbop repository add --trust'.
Proofs stay behind. Both stores are spoken to from this machine.`,
		Example: `  # Copy all backups to another store
  kubectl dbop backup import --all --from old --repository offsite

  # Copy one from a directory that holds what was in a bucket
  kubectl dbop backup import my-db-20261123T101500Z-0a1b --from dir:/mnt/backups --repository offsite`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case from == "":
				return exit.Misuse("--from is required: the repository that has the backups")
			case all == (len(args) > 0):
				return exit.Misuse("name the backups by ID, or copy --all")
			}
			return runBackupImport(cmd.Context(), f, from, repo, args, log)
		},
	}
	command.AddRepositoryFlag(cmd, &repo, "the copies")
	cmd.Flags().StringVar(&from, "from", "", "Repository that has the backups: a name, or dir:/PATH.")
	cmd.Flags().BoolVar(&all, "all", false, "Copy all backups of all clusters.")
	cmd.Flags().BoolVar(&log, "log", log, "Copy the archived log that goes on from the backups.")
	return cmd
}

func runBackupImport(ctx context.Context, f *command.Factory, from, repo string, ids []string, log bool) error {
	to, err := openObjectStore(ctx, f, repo)
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }()
	source, err := openSource(ctx, f, from, to)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	if source.URL() == to.URL() {
		return exit.Misuse("--from and --repository are the same")
	}
	if len(ids) == 0 {
		if ids, err = source.IDs(ctx); err != nil {
			return err
		}
		if len(ids) == 0 {
			return notOfThisFormat(source.URL() + " has no backups of object stores")
		}
	}
	if ids, err = source.WithParents(ctx, ids); err != nil {
		return err
	}
	importer, err := to.Importer(ctx, source)
	if err != nil {
		return err
	}
	// One that can't be copied keeps none of the others back.
	var failed []error
	var there []*archive.Manifest
	for _, id := range ids {
		if ctx.Err() != nil {
			return errors.Join(append(failed, ctx.Err())...)
		}
		done, err := importer.Import(ctx, id)
		switch {
		case errors.Is(err, archive.ErrSignature):
			failed = append(failed, &ops.Error{Kind: ops.Refused, Check: "repository", Message: "import of backup " + id,
				Err: err, Hint: "if you trust who signed it: " + command.DisplayName + " repository add " + to.URL() +
					" --url URL --trust KEY; the repository that it comes from lists its keys: " + command.DisplayName +
					" repository list -o yaml"})
		case err != nil:
			failed = append(failed, err)
		case done.Unchanged:
			f.Note("backup/%s unchanged", id)
			there = append(there, done.Manifest)
		default:
			f.Note("backup/%s imported, %s in %d volumes", id, printer.Size(done.Bytes), done.Volumes)
			there = append(there, done.Manifest)
		}
	}
	if !log {
		return errors.Join(failed...)
	}
	err = to.ImportLogs(ctx, source, there, func(cluster string, done archive.ImportedLog) {
		if done.Segments > 0 {
			f.Note("log of %s imported, %s in %s", cluster, printer.Size(done.Bytes), printer.Plural(done.Segments, "file"))
		}
	})
	return errors.Join(append(failed, err)...)
}

// openSource opens a repository by its name, or a copy of one in a directory.
func openSource(ctx context.Context, f *command.Factory, from string, to *bucket.Repository) (*bucket.Repository,
	error) {
	at, err := f.Location(from, nil)
	if err != nil {
		return nil, err
	}
	if at.Kind == repository.KindDirectory {
		return to.Directory(at.Path)
	}
	return openObjectStore(ctx, f, from)
}

func openObjectStore(ctx context.Context, f *command.Factory, url string) (*bucket.Repository, error) {
	r, err := f.OpenRepository(ctx, url, "", "")
	if err != nil {
		return nil, err
	}
	if out, ok := r.(*bucket.Repository); ok {
		return out, nil
	}
	return nil, errors.Join(notOfThisFormat(r.URL()+" is no object store"), r.Close())
}

func notOfThisFormat(message string) error {
	return &ops.Error{Kind: ops.Refused, Check: "repository", Message: message,
		Hint: "object stores: " + command.DisplayName + " repository list; a backup that was taken to a directory or a " +
			"claim is loaded by " + command.DisplayName + " restore NAME --from ID --repository pvc:CLAIM"}
}
