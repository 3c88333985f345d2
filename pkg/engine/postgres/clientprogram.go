package postgres

import (
	"net"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed/pod"
)

// Way implements engine.ClientProgram.
func (*Engine) Way(*v1alpha1.DatabaseCluster) engine.ClientWay { return engine.ClientWay{Leader: true} }

// InPod implements engine.ClientProgram: psql as the superuser of the agent, by the socket that only the server's own
// user can reach.
func (*Engine) InPod(_ *v1alpha1.DatabaseCluster, args []string) []string {
	return slices.Concat([]string{"psql", "--host=" + pod.SocketsPath, "--username=dbop", "--dbname=postgres"}, args)
}

// OnMachine implements engine.ClientProgram.
func (*Engine) OnMachine(args []string, at engine.ClientEndpoint) engine.Program {
	host, number, _ := net.SplitHostPort(at.Address)
	env := []string{"PGHOST=" + host, "PGPORT=" + number, "PGDATABASE=app", "PGSSLMODE=require"}
	if at.CAFile != "" {
		env = append(env, "PGSSLMODE=verify-ca", "PGSSLROOTCERT="+at.CAFile, "PGSSLCERT="+at.CertFile,
			"PGSSLKEY="+at.KeyFile)
	}
	if c := at.Credentials; c != nil {
		env = append(env, "PGUSER="+c.User, "PGPASSWORD="+c.Password)
	}
	return engine.Program{Args: slices.Concat([]string{"psql"}, args), Env: env}
}
