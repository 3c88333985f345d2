// Package postgres is the engine of PostgreSQL: primary and replicas whose agents agree, see docs/agreement.md. The
// rules are those of package agreed, the session is its client; here is what only PostgreSQL has.
package postgres

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed/client"
)

// Name is the word in spec.engine.
const Name = "postgres"

// Engine is PostgreSQL. It holds no state; New makes it.
type Engine struct{ agreed.Rules }

var _ engine.Engine = (*Engine)(nil)

// New returns the engine. A member that is more than a gigabyte behind is not healthy; one within 16 MB, a file of the
// log, may take over.
func New() *Engine {
	return &Engine{agreed.Rules{Versions: versions{}, NearEnough: 16 << 20, MostLag: 1 << 30, MaxMembers: 9}}
}

// Name implements engine.Engine.
func (*Engine) Name() string { return Name }

// Capabilities implements engine.Engine.
func (e *Engine) Capabilities() engine.Capabilities {
	return engine.Capabilities{
		Quorum: true, HandOver: true, Failover: true, Users: true, Login: true, Agent: true, Routing: true,
		LoadedFounds: true, NamesOnce: true, Source: true, SQL: true, Database: database, MaxMembers: e.MaxMembers,
	}
}

// Connect implements engine.Engine.
func (e *Engine) Connect(a engine.Access) (engine.Session, error) {
	if a.Cluster == nil || a.Dial == nil {
		return nil, fmt.Errorf("connect to %s: no cluster or no dialer given", Name)
	}
	session := client.New(a)
	session.Check, session.Settings = e.CheckStream, settings
	return client.Users{Session: session}, nil
}
