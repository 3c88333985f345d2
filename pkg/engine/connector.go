package engine

import (
	"net/url"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// Connector is what an Engine also is whose clients take a connection string.
type Connector interface {
	// Connections are the ways of a user to a cluster of members that hold data, without a password. That to the primary
	// is the first one. Without members there are only those by services. It is pure.
	Connections(c *v1alpha1.DatabaseCluster, u User, members []string) []Connection
}

// Connection is one way to a cluster.
type Connection struct {
	// To says who answers.
	To string
	// URL is the connection string. Its path is the name of a database.
	URL url.URL
}
