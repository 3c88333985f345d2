package engines

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

// keptRevisions is how much history stays unless asked otherwise: enough for
// clients that are a moment behind.
const keptRevisions = 100

// NewCompact makes the command compact.
func NewCompact(f *command.Factory) *cobra.Command {
	var revision, keep int64
	s := command.Simple{
		Verb: v1alpha1.VerbCompact, Verbed: "compacted", Longer: true,
		Use: "compact [NAME]", Short: "Drop the history of keys",
		Long: `Drop the history of keys: values that were overwritten or deleted before a revision. Keys and their present
values stay. Clients that read at, or watch from, an older revision are told that it was compacted, and must read
again. The command ends once every member that answers has freed the space in its file; 'kubectl dbop defrag'
then gives it back. A repeat does no harm. How much history the database keeps by itself is an option:
'kubectl dbop configure' lists those of auto-compaction.`,
		Example: `  # Drop all but the last hundred revisions of my-db
  kubectl dbop compact my-db

  # Keep the last ten thousand revisions
  kubectl dbop compact my-db --keep-revisions 10000

  # Drop what is older than a revision
  kubectl dbop compact my-db --revision 4711`}
	var cmd *cobra.Command
	s.Fill = func(o *v1alpha1.OperationSpec) error {
		switch {
		case revision < 0 || keep < 0:
			return exit.Misuse("--revision and --keep-revisions must be 0 or more")
		case revision > 0 && cmd.Flags().Changed("keep-revisions"):
			return exit.Misuse("--revision and --keep-revisions are two ways to say the same: give one")
		case revision > 0:
			o.Compaction = &v1alpha1.Compaction{Revision: revision}
		default:
			o.Compaction = &v1alpha1.Compaction{Keep: keep}
		}
		return nil
	}
	cmd = command.NewSimple(f, s)
	cmd.Flags().Int64Var(&revision, "revision", 0, "Drop the history before this revision.")
	cmd.Flags().Int64Var(&keep, "keep-revisions", keptRevisions, "How many revisions before the present one stay.")
	return cmd
}
