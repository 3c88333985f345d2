package valkey

import (
	"fmt"
	"net/url"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

var _ engine.Connector = (*Engine)(nil)

// Connections implements engine.Connector.
func (*Engine) Connections(c *v1alpha1.DatabaseCluster, u engine.User, _ []string) []engine.Connection {
	to := func(who, host string) engine.Connection {
		return engine.Connection{To: who, URL: url.URL{Scheme: "rediss", User: url.User(u.Name),
			Host: fmt.Sprintf("%s:%d", host, port), Path: "/0"}}
	}
	return []engine.Connection{
		to("the primary", v1alpha1.ClientHost(c.Name, c.Namespace)),
		to("a replica", v1alpha1.ReadOnlyService(c.Name)+"."+c.Namespace+".svc"),
	}
}
