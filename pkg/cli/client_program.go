package cli

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// clientCommand is the argv that, inside a member's pod, runs the client that
// the database's own image brings along. The server's certificate names every
// address that a member answers on, localhost among them.
func clientCommand(c *v1alpha1.DatabaseCluster, args []string) ([]string, error) {
	switch c.Spec.Engine {
	case "etcd":
		return etcdctl(c.Spec.TLS.Disabled, args), nil
	default:
		return nil, &engine.Refusal{Check: "connect", Reason: "no client program is known for engine " + c.Spec.Engine}
	}
}

func etcdctl(plain bool, args []string) []string {
	if len(args) == 0 {
		args = []string{"member", "list", "--write-out=table"}
	}
	if plain {
		return append([]string{"etcdctl", "--endpoints=http://localhost:2379"}, args...)
	}
	const certificates = "/etc/etcd/tls/"
	return append([]string{"etcdctl", "--endpoints=https://localhost:2379", "--cacert=" + certificates + "ca.crt",
		"--cert=" + certificates + "tls.crt", "--key=" + certificates + "tls.key"}, args...)
}
