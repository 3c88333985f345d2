package cli

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/access"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/backup"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/cluster"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/docs"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/engines"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/operation"
)

func newPlan(f *command.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan VERB",
		Short: "Show what a change would do",
		Long: `Show what a change would do, with the flags of the change itself: steps, restarts, who leads afterwards, what
quorum margin is left, what can't be undone and what blocks it. Nothing is written.`,
		Example: `  # Show what an upgrade of my-db would do
  kubectl dbop plan upgrade my-db --version 3.6

  # The same for a program
  kubectl dbop plan upgrade my-db --version 3.6 -o json`,
		Args: cobra.ArbitraryArgs,
		RunE: command.ParentOnly,
	}
	cmd.AddCommand(cluster.NewCreate(f, command.PlanOnly), cluster.NewAddMember(f, command.PlanOnly), cluster.NewRemoveMember(f, command.PlanOnly), cluster.NewReplaceMember(f, command.PlanOnly), cluster.NewScale(f, command.PlanOnly),
		cluster.NewSwitchover(f, command.PlanOnly), cluster.NewRestart(f, command.PlanOnly), cluster.NewRepair(f, command.PlanOnly), cluster.NewStop(f, command.PlanOnly), cluster.NewStart(f, command.PlanOnly), engines.NewDefrag(f, command.PlanOnly), engines.NewCompact(f, command.PlanOnly), engines.NewAlarms(f, command.PlanOnly),
		access.NewAuth(f, command.PlanOnly), access.NewUser(f, command.PlanOnly), access.NewCredentials(f, command.PlanOnly), access.NewCertificates(f, command.PlanOnly),
		cluster.NewUpgrade(f, command.PlanOnly), cluster.NewDowngrade(f, command.PlanOnly), cluster.NewConfigure(f, command.PlanOnly), cluster.NewResize(f, command.PlanOnly), backup.NewBackup(f, command.PlanOnly), backup.NewRestore(f, command.PlanOnly), backup.NewRecover(f, command.PlanOnly), operation.NewUndo(f, command.PlanOnly), cluster.NewDelete(f, command.PlanOnly))
	docs.PlanExamples(cmd)
	return cmd
}
