package cluster

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
)

// NewStart makes the command start.
func NewStart(f *command.Factory) *cobra.Command {
	return command.NewSimple(f, command.Simple{
		Verb: v1alpha1.VerbStart, Verbed: "started",
		Use: "start [NAME]", Short: "Start a stopped cluster",
		Long: `Start a stopped cluster: all members together, with the volumes and identities that they had.`,
		Example: `  # Start my-db again
  kubectl dbop start my-db`})
}
