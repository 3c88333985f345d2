package operation

import (
	"fmt"
	"net"
	"strconv"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// checkSource judges what the cluster is to be a copy of, without asking it.
func checkSource(e engine.Engine, c *v1alpha1.DatabaseCluster) error {
	from := c.Spec.Source
	switch {
	case from == nil:
		return nil
	case !e.Capabilities().Source:
		return refuseSource("a cluster of %s can't begin as the copy of a server", e.Name())
	case c.Spec.RestoreFrom != nil:
		return refuseSource("a cluster begins from a backup or as the copy of a server, not both")
	case from.Cluster != "":
		return checkPredecessor(e, c)
	}
	host, port, err := net.SplitHostPort(from.Address)
	number, _ := strconv.Atoi(port) // what is no number is 0
	switch {
	case err != nil || host == "" || number < 1 || number > 65535:
		return refuseSource("%q is no HOST:PORT", from.Address)
	case host == "localhost" || net.ParseIP(host).IsLoopback():
		return refuseSource("%s is every pod itself: name the server as pods reach it", host)
	}
	return nil
}

// checkPredecessor judges the cluster whose place another one is to take.
func checkPredecessor(e engine.Engine, c *v1alpha1.DatabaseCluster) error {
	from := c.Spec.Source
	_, followed := e.(engine.Followed)
	switch {
	case *from != v1alpha1.Source{Cluster: from.Cluster}:
		return refuseSource("an address, a user, a secret and TLS are of a server; %s is a cluster", from.Cluster)
	case from.Cluster == c.Name:
		return refuseSource("%s can't be a copy of itself", c.Name)
	case !followed:
		return refuseSource("a cluster of %s needs no other one to get a newer version: kubectl dbop upgrade %s", e.Name(),
			from.Cluster)
	}
	return nil
}

func refuseSource(format string, args ...any) error {
	return &engine.Refusal{Check: "source", Reason: fmt.Sprintf(format, args...),
		Hint: "kubectl dbop create --help shows how a cluster begins as the copy of a server"}
}
