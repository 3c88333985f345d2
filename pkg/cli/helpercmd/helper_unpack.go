package helpercmd

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
)

func newHelperUnpack(f *command.Factory) *cobra.Command {
	var name, file, to string
	var forward forwardFlags
	cmd := &cobra.Command{
		Use:   "unpack --engine ENGINE --file FILE --to DIR",
		Short: "Make a data directory of a backup's file",
		Long:  "Make a data directory of a backup's file, and compare every byte with what the backup says of itself.",
		Example: `  # Make a data directory
  kubectl dbop helper unpack --engine postgres --file /staging/snapshot --to /staging/out`,
		Args: command.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if name == "" || file == "" || to == "" {
				return exit.Misuse("--engine, --file and --to are required")
			}
			e, err := f.EngineNamed(name)
			if err != nil {
				return err
			}
			u, ok := e.(engine.Unpacker)
			if !ok {
				return exit.Misuse("backups of %s are not unpacked by this tool", name)
			}
			err = u.Unpack(cmd.Context(), file, to)
			if err == nil && forward.target.Set() {
				err = forward.run(helper.TellOutages(cmd.Context(), f.Verbatim), e, to, cmd.OutOrStdout())
			}
			if err == nil && forward.programs != "" {
				err = convert(cmd, e, to, forward.programs)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&name, "engine", "", "Engine that made the backup.")
	forward.addTo(cmd)
	cmd.Flags().StringVar(&file, "file", "", "File of the backup.")
	cmd.Flags().StringVar(&to, "to", "", "Data directory to make.")
	return cmd
}
