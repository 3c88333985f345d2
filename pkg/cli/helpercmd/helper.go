package helpercmd

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

// NewHelper is the tool's side inside pods. It is no interface for people.
func NewHelper(f *command.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:    "helper",
		Short:  "Run the parts of this tool that run in pods",
		Long:   "Run the parts of this tool that run in pods. The tool calls them itself.",
		Hidden: true,
		Args:   cobra.ArbitraryArgs,
		RunE:   command.ParentOnly,
	}
	cmd.AddCommand(newHelperServe(f), newHelperLoad(f), newHelperInstall(), newHelperExamine(f), newHelperCopy(),
		newHelperMeasure(), newHelperBackup(f), newHelperProve(f), newHelperUnpack(f), newHelperPrograms(f),
		newHelperConvert(f), newHelperRevert(f),
		newHelperArchive(f))
	return cmd
}

func newHelperServe(f *command.Factory) *cobra.Command {
	o := helper.ServeOptions{Open: func(name, path string) (engine.SnapshotFacts, error) {
		e, err := f.EngineNamed(name)
		if err != nil {
			return engine.SnapshotFacts{}, err
		}
		return e.OpenSnapshot(path, true)
	}}
	cmd := &cobra.Command{
		Use:   "serve --root DIR --listen ADDRESS",
		Short: "Serve a directory as a repository",
		Long:  "Serve a directory as a repository, on the loopback of a pod.",
		Example: `  # Serve a mounted volume
  kubectl dbop helper serve --root /repository --listen 127.0.0.1:8600`,
		Args: command.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Root == "" || o.Listen == "" {
				return exit.Misuse("--root and --listen are required")
			}
			return o.Run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&o.Root, "root", "", "Directory of the repository.")
	cmd.Flags().StringVar(&o.Listen, "listen", "", "Loopback address with port.")
	return cmd
}

func newHelperLoad(f *command.Factory) *cobra.Command {
	o := helper.LoadOptions{Output: f.Verbatim}
	var unlock, dataHash, from, directory, server, id, report string
	cmd := &cobra.Command{
		Use:   "load --listen ADDRESS --into DIR --staging DIR --operation ID -- COMMAND...",
		Short: "Receive a backup and make a data directory of it",
		Long:  "Receive a backup on the loopback of a pod, and make a data directory of it with the command.",
		Example: `  # Receive a backup for one member
  kubectl dbop helper load --listen 127.0.0.1:8601 --into /new --staging /tmp --operation op1 -- restore {file} {out}`,
		Args: command.Arguments(1, 256, "the COMMAND"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !one(o.Listen, from, directory, server) || o.Into == "" || o.Staging == "" || o.Operation == "" {
				return exit.Misuse("--listen, --from-repository, --from-directory or --from-server, and --into, --staging and " +
					"--operation are required")
			}
			o.Command = args
			if unlock != "" {
				e, err := f.EngineNamed(unlock)
				if err != nil {
					return err
				}
				u, ok := e.(engine.Unlocker)
				if !ok {
					return exit.Misuse("data of %s can't be unlocked", unlock)
				}
				o.Finish = u.Unlock
			}
			if dataHash != "" {
				e, err := f.EngineNamed(dataHash)
				if err != nil {
					return err
				}
				i, ok := e.(engine.DataHasher)
				if !ok {
					return exit.Misuse("data of %s can't be described", dataHash)
				}
				o.DataHash = i.DataHash
			}
			saveMemory(f.Getenv)
			if from != "" {
				return fetchBackup(helper.TellOutages(cmd.Context(), f.Verbatim), o, from, id, report)
			}
			if directory != "" {
				repo, err := repository.NewDirectory(directory)
				if err != nil {
					return err
				}
				return o.Fetch(cmd.Context(), repo, id, report)
			}
			if server != "" {
				return o.FetchServed(cmd.Context(), server, id, report)
			}
			return o.Run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&o.Listen, "listen", "", "Loopback address with port.")
	cmd.Flags().StringVar(&from, "from-repository", "",
		"Directory where a repository's description and keys are mounted.")
	cmd.Flags().StringVar(&directory, "from-directory", "", "Directory that is a repository.")
	cmd.Flags().StringVar(&server, "from-server", "",
		"Loopback address with port where another container of the pod serves a repository.")
	cmd.Flags().StringVar(&id, "backup", "", "Without --listen, the backup to load.")
	cmd.Flags().StringVar(&report, "report", "", "Without --listen, the file that takes the report.")
	cmd.Flags().BoolVar(&o.Once, "once", false, "The command reads the file once, from its beginning to its end.")
	cmd.Flags().StringVar(&o.Into, "into", "", "Data directory to make.")
	cmd.Flags().StringVar(&o.Staging, "staging", "", "Directory for what is unfinished, on the same volume.")
	cmd.Flags().StringVar(&unlock, "unlock", "",
		"Engine whose data is to demand no credentials, for copies that nobody else reaches.")
	cmd.Flags().StringVar(&dataHash, "data-hash", "", "Engine that describes what is loaded, for the answer.")
	cmd.Flags().StringVar(&o.Operation, "operation", "", "Identifier of the restore, by which a repeat is known.")
	return cmd
}

// one reports whether exactly one of the texts is set.
func one(of ...string) bool {
	return len(slices.DeleteFunc(of, func(s string) bool { return s == "" })) == 1
}

// fetchBackup loads a backup out of an object store.
func fetchBackup(ctx context.Context, o helper.LoadOptions, dir, id, report string) (err error) {
	d, secrets, err := bucket.ReadDirectory(dir)
	if err != nil {
		return err
	}
	repo, err := bucket.Open(d, secrets, "", "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, repo.Close()) }()
	return o.Fetch(ctx, repo, id, report)
}

func newHelperInstall() *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:   "install --to PATH",
		Short: "Copy this program to a path",
		Long:  "Copy this program to a path, for images without a shell.",
		Example: `  # Copy this program into a shared volume
  kubectl dbop helper install --to /dbop/kubectl-dbop`,
		Args: command.Arguments(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			if to == "" {
				return exit.Misuse("--to is required")
			}
			return helper.Install(to)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "Path of the copy.")
	return cmd
}
