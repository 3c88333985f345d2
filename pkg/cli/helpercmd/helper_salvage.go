package helpercmd

import (
	"encoding/json"
	"os"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
)

func newHelperExamine(f *command.Factory) *cobra.Command {
	var o helper.ExamineOptions
	var name string
	cmd := &cobra.Command{
		Use:   "examine --engine NAME --dir DIR",
		Short: "Say what a stopped member's data holds",
		Long:  "Say what a stopped member's data holds, without changing anything in it.",
		Example: `  # Examine a mounted volume
  kubectl dbop helper examine --engine etcd --dir /var/lib/etcd/data --report /dev/termination-log`,
		Args: command.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if name == "" || o.Dir == "" {
				return exit.Misuse("--engine and --dir are required")
			}
			e, err := f.EngineNamed(name)
			if err != nil {
				return err
			}
			s, ok := e.(engine.DataRecoverer)
			if !ok {
				return exit.Misuse("engine %s can't examine data", name)
			}
			if o.Report == "" {
				return json.NewEncoder(f.Streams.Out).Encode(s.InspectDataDir(o.Dir))
			}
			self, err := os.Executable()
			if err != nil {
				return err
			}
			o.Command = []string{self, "helper", "examine", "--engine", name, "--dir", o.Dir}
			return o.Run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&name, "engine", "", "Engine whose data it is.")
	cmd.Flags().StringVar(&o.Dir, "dir", "", "Data directory.")
	cmd.Flags().StringVar(&o.Report, "report", "", "File that takes the report; standard output if not set.")
	return cmd
}

func newHelperCopy() *cobra.Command {
	var from, to string
	cmd := &cobra.Command{
		Use:   "copy --from DIR --to DIR",
		Short: "Copy a data directory",
		Long:  "Copy a data directory, of which it only reads, for images without a shell.",
		Example: `  # Copy a mounted volume's data to an empty one
  kubectl dbop helper copy --from /source/data --to /var/lib/etcd/data`,
		Args: command.Arguments(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			if from == "" || to == "" {
				return exit.Misuse("--from and --to are required")
			}
			return helper.CopyData(from, to)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "Directory to read.")
	cmd.Flags().StringVar(&to, "to", "", "Directory to make.")
	return cmd
}
