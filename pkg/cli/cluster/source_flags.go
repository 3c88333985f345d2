package cluster

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

// sourceFlags name the server that a new cluster begins as a copy of.
type sourceFlags struct{ of v1alpha1.Source }

func (s *sourceFlags) define(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&s.of.Address, "from-primary", "",
		"Server that runs, as HOST:PORT for pods: begin as its copy and follow it until 'kubectl dbop cutover'.")
	flags.StringVar(&s.of.Cluster, "from-cluster", "",
		"Cluster of this namespace whose place the new one is to take: have its authority and passwords, and follow it.")
	flags.StringVar(&s.of.User, "from-user", "", "User of that server; its default user if not set.")
	flags.StringVar(&s.of.Secret, "from-secret", "",
		"Secret with what that server asks for: password, ca.crt, tls.crt and tls.key.")
	flags.BoolVar(&s.of.TLS, "from-tls", false, "Speak TLS with that server.")
}

// addTo writes the server into a cluster that is to be.
func (s *sourceFlags) addTo(c *v1alpha1.DatabaseCluster) error {
	if s.of == (v1alpha1.Source{}) {
		return nil
	}
	if s.of.Address == "" && s.of.Cluster == "" {
		return exit.Misuse("--from-user, --from-secret and --from-tls are of a server that --from-primary names")
	}
	c.Spec.Source = &s.of
	return nil
}
