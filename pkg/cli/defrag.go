package cli

import (
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

func newDefrag(f *Factory, m mode) *cobra.Command {
	var gain string
	s := simple{
		verb: v1alpha1.VerbDefrag, verbed: "defragmented", downtime: true, longer: true,
		use: "defrag [NAME]", short: "Give back the space that deleted data left",
		long: `Give back the space that deleted data left in the members' files, one member at a time, the leader last
after it handed over. A member does not answer meanwhile. Members where little is to gain are skipped.`,
		example: `  # Defragment the members of my-db that are worth it
  kubectl dbop defrag my-db

  # Defragment every member that gives back a mebibyte or more
  kubectl dbop defrag my-db --min-gain 1Mi`}
	s.fill = func(o *v1alpha1.OperationSpec) error {
		if gain == "" {
			return nil
		}
		q, err := resource.ParseQuantity(gain)
		if err != nil || q.Value() < 1 {
			return misuse("--min-gain takes an amount such as 64Mi, not %q", gain)
		}
		o.MinGain = q.Value()
		return nil
	}
	cmd := newSimple(f, m, s)
	cmd.Flags().StringVar(&gain, "min-gain", "", "Defragment members that give back at least this much, such as 64Mi.")
	return cmd
}
