package cluster

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
)

// NewRestart makes the command restart.
func NewRestart(f *command.Factory) *cobra.Command {
	return command.NewSimple(f, command.Simple{
		Verb: v1alpha1.VerbRestart, Verbed: "restarted", Downtime: true, Longer: true,
		Use: "restart [NAME]", Short: "Restart the members one by one",
		Long: `Restart the members one by one, the leader last after it handed over. Between two members the whole
cluster must be healthy.`,
		Example: `  # Restart all members of my-db
  kubectl dbop restart my-db`})
}
