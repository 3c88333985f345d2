package postgres

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

var _ engine.Connector = (*Engine)(nil)

// database is the one that is made for applications.
const database = "app"

// databaseOf is the one that a user is meant for.
func databaseOf(u engine.User) string {
	switch {
	case u.Admin:
		return "postgres"
	case len(u.Grants) > 0 && u.Grants[0].Prefix != "":
		return u.Grants[0].Prefix
	}
	return database
}

// Connections implements engine.Connector. A client of libpq takes all hosts of the last one, and finds the primary.
func (*Engine) Connections(c *v1alpha1.DatabaseCluster, u engine.User, members []string) []engine.Connection {
	in := databaseOf(u)
	to := func(who, hosts, query string) engine.Connection {
		return engine.Connection{To: who, URL: url.URL{Scheme: "postgresql", User: url.User(u.Name), Host: hosts,
			Path: "/" + in, RawQuery: "sslmode=require" + query}}
	}
	out := []engine.Connection{
		to("the primary", fmt.Sprintf("%s:%d", v1alpha1.ClientHost(c.Name, c.Namespace), port), ""),
		to("a replica", fmt.Sprintf("%s.%s.svc:%d", v1alpha1.ReadOnlyService(c.Name), c.Namespace, port), ""),
	}
	if len(members) == 0 {
		return out
	}
	var hosts []string
	for _, m := range members {
		hosts = append(hosts, fmt.Sprintf("%s:%d", v1alpha1.MemberHost(c.Name, c.Namespace, m), port))
	}
	return append(out, to("the primary, past the agents", strings.Join(hosts, ","), "&target_session_attrs=primary"))
}
