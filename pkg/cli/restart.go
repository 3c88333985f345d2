package cli

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

func newRestart(f *Factory, m mode) *cobra.Command {
	return newSimple(f, m, simple{
		verb: v1alpha1.VerbRestart, verbed: "restarted", downtime: true, longer: true,
		use: "restart [NAME]", short: "Restart the members one by one",
		long: `Restart the members one by one, the leader last after it handed over. Between two members the whole
cluster must be healthy.`,
		example: `  # Restart all members of my-db
  kubectl dbop restart my-db`})
}
