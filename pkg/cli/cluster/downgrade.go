package cluster

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
)

// NewDowngrade makes the command downgrade.
func NewDowngrade(f *command.Factory) *cobra.Command {
	return newVersionChange(f, v1alpha1.VerbDowngrade, "downgraded", &cobra.Command{
		Use:   "downgrade [NAME] --version VERSION",
		Short: "Move a cluster to an older version",
		Long: `Move a cluster to an older version, by the database's own protocol and without loss of data. After a verified
backup the downgrade is announced: the cluster then speaks and writes only what the older version understands. Once
every member does, they restart on it one by one, followers first, the leader last after it handed over. No member
joins meanwhile. Until the last has moved, 'kubectl dbop cancel' takes it back and upgrades again the members that
moved.

etcd goes down from 3.6 on, one minor at a time. It is refused while a member is unhealthy, and where an option of
the cluster is unknown to the older version.`,
		Example: `  # Go back from 3.7 to the newest 3.6
  kubectl dbop downgrade my-db --version 3.6

  # Keep the safety backup on a volume
  kubectl dbop downgrade my-db --version 3.6 --repository pvc:backups`,
	})
}
