package cluster

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
)

// NewUpgrade makes the command upgrade.
func NewUpgrade(f *command.Factory) *cobra.Command {
	return newVersionChange(f, v1alpha1.VerbUpgrade, "upgraded", &cobra.Command{
		Use:   "upgrade [NAME] --version VERSION",
		Short: "Move a cluster to another version",
		Long: `Move a cluster to another version, member by member: a verified backup first, then followers, the leader
last after it handed over. Between two members the whole cluster must be healthy.

Another major version of PostgreSQL can't read the data as it is. Then all members stop, a backup of the data is
converted, and a new member begins with it. Before any member stops the same is tried with a throw-away member. The old
volumes stay, and cancel goes back to them until the upgrade is done. With --link the data is converted on the volume of
its member, without a copy: the stop is shorter, and the first start of the new version closes the way back.

With --online the members go on. A second cluster of the new version copies the data and follows, compares, and takes
over once you say so: nobody can write for a few seconds. The services for clients of the first cluster then lead to the
second one, with the same passwords and the same authority. The first one follows, so that --back goes back with all
that was written, until --finish. Each step is an operation that can be asked for by itself; repeating the command goes
on where it was.`,
		Example: `  # Upgrade the only cluster of the namespace
  kubectl dbop upgrade --version 3.6

  # Upgrade my-db and keep the safety backup on a volume
  kubectl dbop upgrade my-db --version 3.6 --repository pvc:backups

  # Convert the data of a PostgreSQL cluster of version 17
  kubectl dbop upgrade my-db --version 18 --allow-downtime

  # Convert it on the volume of its member, with no way back from the first start
  kubectl dbop upgrade my-db --version 18 --allow-downtime --link

  # Move to version 18 while clients read and write
  kubectl dbop upgrade my-db --version 18 --online

  # Go back with all that was written since
  kubectl dbop upgrade my-db --online --back --into my-db-v18

  # Stay, and give up the way back
  kubectl dbop upgrade my-db --online --finish --into my-db-v18`,
	})
}
