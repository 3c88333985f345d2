package engines

import (
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

// NewDefrag makes the command defrag.
func NewDefrag(f *command.Factory) *cobra.Command {
	var gain string
	s := command.Simple{
		Verb: v1alpha1.VerbDefrag, Verbed: "defragmented", Downtime: true, Longer: true,
		Use: "defrag [NAME]", Short: "Give the space of deleted data back",
		Long: `Give the space of deleted data back in the members' files, one member at a time, the leader last
after it handed over. A member does not answer meanwhile. Members where little is to gain are skipped.`,
		Example: `  # Defragment the members of my-db that are worth it
  kubectl dbop defrag my-db

  # Defragment every member that gives back a mebibyte or more
  kubectl dbop defrag my-db --min-gain 1Mi`}
	s.Fill = func(o *v1alpha1.OperationSpec) error {
		if gain == "" {
			return nil
		}
		q, err := resource.ParseQuantity(gain)
		if err != nil || q.Value() < 1 {
			return exit.Misuse("--min-gain takes an amount such as 64Mi, not %q", gain)
		}
		o.MinGain = q.Value()
		return nil
	}
	cmd := command.NewSimple(f, s)
	cmd.Flags().StringVar(&gain, "min-gain", "", "Defragment members that give back at least this much, such as 64Mi.")
	return cmd
}
