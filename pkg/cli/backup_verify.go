package cli

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

func newBackupVerify(f *Factory) *cobra.Command {
	c := newChange(f, perform)
	var repo string
	cmd := &cobra.Command{
		Use:   "verify ID",
		Short: "Prove that a backup can be restored",
		Long: `Prove that a backup can be restored: it is loaded into a throw-away member that serves it, and what is
served is compared with the manifest. The cluster that it was taken from is not touched.`,
		Example: `  # Verify a backup of the default repository
  kubectl dbop backup verify my-db-20261121T101500Z-0a1b`,
		Args:              arguments(1, 1, "the ID of the backup"),
		ValidArgsFunction: completeBackups(f, &repo),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.check(); err != nil {
				return err
			}
			r, m, err := f.findBackup(cmd.Context(), repo, args[0], "")
			if err != nil {
				return err
			}
			url := r.URL()
			_ = r.Close()
			e, err := f.engineNamed(m.Engine)
			if err != nil {
				return err
			}
			namespace, err := f.namespace()
			if err != nil {
				return err
			}
			spec := f.operation(cmd.Context(), v1alpha1.VerbVerify, m.Cluster)
			spec.Repository, spec.Backup, spec.Verify = url, m.ID, true
			return c.run(cmd.Context(), intent{namespace: namespace, engine: e, request: ops.Request{Operation: spec}, operation: true,
				subject: "backup/" + m.ID, verbed: "verified", next: displayName + " backup describe " + m.ID + " --repository " + url})
		},
	}
	c.addTo(cmd, longTimeout, false)
	addRepositoryFlag(cmd, &repo, "the backup")
	return cmd
}
