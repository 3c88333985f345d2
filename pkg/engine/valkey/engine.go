// Package valkey holds the engines of Valkey and of Redis: primary and replicas whose agents agree, see docs/valkey.md.
// The rules are those of package agreed, the session is its client. What differs between the two is a product.
package valkey

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed/client"
)

// product is what differs between Valkey and Redis.
type product struct {
	// name is the word in spec.engine.
	name string
	// server and cli are programs in the image.
	server, cli string
	// oldest is the first major version that the agent serves.
	oldest  int
	catalog engine.Catalog
}

// Engine is Valkey or Redis. It holds no state; New and NewRedis make it.
type Engine struct {
	agreed.Rules
	product product
}

var _ engine.Engine = (*Engine)(nil)

// New returns the engine of Valkey.
func New() *Engine {
	return of(product{
		name: "valkey", server: "valkey-server", cli: "valkey-cli", oldest: 8,
		catalog: releases("docker.io/valkey/valkey", "8.1.1", "8.1.1", "9.1.2"),
	})
}

// NewRedis returns the engine of Redis.
func NewRedis() *Engine {
	return of(product{
		name: "redis", server: "redis-server", cli: "redis-cli", oldest: 7,
		catalog: releases("docker.io/library/redis", "8.0.2", "7.0.15", "8.0.2"),
	})
}

// of returns an engine. A member that is more than a gigabyte behind is not healthy; one within 16 MB may take over.
func of(p product) *Engine {
	return &Engine{
		Rules: agreed.Rules{Versions: versions{}, NearEnough: 16 << 20, MostLag: 1 << 30, MaxMembers: 9,
			ReadsOlder: true},
		product: p,
	}
}

// Name implements engine.Engine.
func (e *Engine) Name() string { return e.product.name }

// Catalog implements engine.Engine: releases that the agent is tested with.
func (e *Engine) Catalog() engine.Catalog { return e.product.catalog }

func releases(image, standard string, all ...string) engine.Catalog {
	c := engine.Catalog{Default: standard}
	for _, v := range all {
		c.Releases = append(c.Releases, engine.Release{
			Version: v, Series: versions{}.Series(v), Image: image + ":" + v,
		})
	}
	return c
}

// Capabilities implements engine.Engine.
func (e *Engine) Capabilities() engine.Capabilities {
	return engine.Capabilities{
		Quorum: true, HandOver: true, Failover: true, Users: true, Login: true, Agent: true, Routing: true,
		LoadedFounds: true, NamesOnce: true, Source: true, MaxMembers: e.MaxMembers,
	}
}

// Connect implements engine.Engine.
func (e *Engine) Connect(a engine.Access) (engine.Session, error) {
	if a.Cluster == nil || a.Dial == nil {
		return nil, fmt.Errorf("connect to %s: no cluster or no dialer given", e.Name())
	}
	session := client.New(a)
	session.Check = e.CheckStream
	return client.Users{Session: session}, nil
}
