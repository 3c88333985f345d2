package cli

import "github.com/spf13/cobra"

func newPlan(f *Factory) *cobra.Command {
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
		RunE: parentOnly,
	}
	cmd.AddCommand(newCreate(f, planOnly), newAddMember(f, planOnly), newRemoveMember(f, planOnly), newReplaceMember(f, planOnly), newScale(f, planOnly),
		newSwitchover(f, planOnly), newRestart(f, planOnly), newRepair(f, planOnly), newStop(f, planOnly), newStart(f, planOnly), newDefrag(f, planOnly), newCompact(f, planOnly), newAlarms(f, planOnly),
		newAuth(f, planOnly), newUser(f, planOnly), newCredentials(f, planOnly), newCertificates(f, planOnly),
		newUpgrade(f, planOnly), newDowngrade(f, planOnly), newConfigure(f, planOnly), newResize(f, planOnly), newBackup(f, planOnly), newRestore(f, planOnly), newRecover(f, planOnly), newUndo(f, planOnly), newDelete(f, planOnly))
	planExamples(cmd)
	return cmd
}
