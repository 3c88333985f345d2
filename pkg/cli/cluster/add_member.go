package cluster

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
)

// NewAddMember makes the command under one of its two names: the word that people
// type first, and the one beside its siblings.
func NewAddMember(f *command.Factory, name string) *cobra.Command {
	example := `  # Add one member to the only cluster of the namespace
  kubectl dbop add-member

  # See what adding a member to my-db would do
  kubectl dbop add-member my-db --dry-run=client`
	if name == "add" {
		example = strings.ReplaceAll(example, "add-member", "member add")
	}
	return command.NewSimple(f, command.Simple{
		Verb: v1alpha1.VerbAddMember, Verbed: "grown",
		Use: name + " [NAME]", Short: "Add one member to a cluster",
		Long: `Add one member to a cluster. Where the database knows learners, the new member joins without a vote. It gets
its vote once it has caught up, so a start that fails costs nothing.`,
		Example: example})
}
