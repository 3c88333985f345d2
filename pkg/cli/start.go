package cli

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

func newStart(f *Factory, m mode) *cobra.Command {
	return newSimple(f, m, simple{
		verb: v1alpha1.VerbStart, verbed: "started",
		use: "start [NAME]", short: "Start a stopped cluster",
		long: `Start a stopped cluster: all members together, with the volumes and identities that they had.`,
		example: `  # Start my-db again
  kubectl dbop start my-db`})
}
