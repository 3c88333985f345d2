package cluster

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
)

// NewRepair makes the command repair.
func NewRepair(f *command.Factory) *cobra.Command {
	return command.NewSimple(f, command.Simple{
		Verb: v1alpha1.VerbRepair, Verbed: "repaired", Downtime: true, Longer: true,
		Use: "repair [NAME]", Short: "Put back objects that were changed or deleted",
		Long: `Put back the objects of a cluster that are not as this tool made them: services, the disruption budget,
StatefulSets, labels, and certificates that the cluster's authority can sign again. 'kubectl dbop diagnose'
lists what differs, and 'kubectl dbop plan repair' the steps. Members whose pod was made from a changed
template restart one by one afterwards.

A record that is missing or damaged (configmap NAME.dbop) is written again from its copy on the volume claims, while the
members run on. After the loss of the certificate authority the members change over to a new one, one by one.
Where only the volumes are left, the same members start on them again. No data is touched.`,
		Example: `  # Put back what differs of my-db
  kubectl dbop repair my-db`})
}
