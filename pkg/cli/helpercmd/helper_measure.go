package helpercmd

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
)

func newHelperMeasure() *cobra.Command {
	var o helper.MeasureOptions
	cmd := &cobra.Command{
		Use:   "measure --dir DIR --report FILE",
		Short: "Say how full a volume is",
		Long:  "Say how full a volume is, and what failed defragmentations left on it. It only reads.",
		Example: `  # Measure a mounted volume
  kubectl dbop helper measure --dir /var/lib/etcd/data --leftovers 'member/snap/db.tmp.*' --report /dev/termination-log`,
		Args: command.Arguments(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			if o.Dir == "" || o.Report == "" {
				return exit.Misuse("--dir and --report are required")
			}
			return o.Run()
		},
	}
	cmd.Flags().StringVar(&o.Dir, "dir", "", "Directory on the volume.")
	cmd.Flags().StringVar(&o.Leftovers, "leftovers", "", "Pattern of files to count, below the directory.")
	cmd.Flags().StringVar(&o.Report, "report", "", "File that takes the report.")
	return cmd
}
