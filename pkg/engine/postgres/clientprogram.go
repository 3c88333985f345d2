package postgres

import (
	"cmp"
	"net"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed/pod"
)

// Way implements engine.ClientProgram.
func (*Engine) Way(*v1alpha1.DatabaseCluster) engine.ClientWay {
	return engine.ClientWay{Leader: true, Secrets: pod.MemoryPath}
}

// InPod implements engine.ClientProgram: psql by the socket that only the server's own user can reach, as the superuser
// of the agent or as a user who logs in.
func (*Engine) InPod(_ *v1alpha1.DatabaseCluster, as engine.ClientLogin, args []string) []string {
	user, in := "dbop", "postgres"
	if as.User.Name != "" {
		user, in = as.User.Name, databaseOf(as.User)
	}
	psql := slices.Concat([]string{"psql", "--host=" + pod.SocketsPath, "--username=" + user,
		"--dbname=" + cmp.Or(as.Database, in)}, args)
	if as.PasswordFile == "" {
		return psql
	}
	const script = `PGPASSWORD=$(cat "$1") && rm "$1" && export PGPASSWORD && shift && exec "$@"`
	return slices.Concat([]string{"sh", "-c", script, "sh", as.PasswordFile}, psql)
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
