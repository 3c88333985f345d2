package cli

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/docs"
)

// newPlan wraps every command of the tree that has a plan.
func newPlan(f *command.Factory, root *cobra.Command) *cobra.Command {
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
	used := map[string]bool{}
	for _, verb := range root.Commands() {
		planned := f.Planned(verb, docs.PlanExample)
		if planned == nil {
			continue
		}
		planned.GroupID = verb.GroupID
		cmd.AddCommand(planned)
		used[verb.GroupID] = true
	}
	for _, g := range root.Groups() {
		if used[g.ID] {
			cmd.AddGroup(g)
		}
	}
	return cmd
}
