// Package etcd is the engine of etcd 3.5, 3.6 and 3.7. Pure knowledge (rules,
// rendering, the catalog) and the protocol (sessions, snapshots) live side by
// side, a room for each; what etcd itself demands is cited where it is
// encoded.
package etcd

import (
	"errors"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/addresses"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/client"
)

// Name is the word in spec.engine.
const Name = "etcd"

// maxMembers: more voters make writes slower and hardly anything safer,
// https://etcd.io/docs/v3.6/faq/#what-is-maximum-cluster-size.
const maxMembers = 7

// Engine is etcd. It holds no state; the zero value works.
type Engine struct{}

var _ engine.Engine = (*Engine)(nil)

// New returns the etcd engine.
func New() *Engine { return &Engine{} }

// Name implements engine.Engine.
func (*Engine) Name() string { return Name }

// Capabilities implements engine.Engine.
func (*Engine) Capabilities() engine.Capabilities {
	return engine.Capabilities{
		Quorum:     true,
		Learners:   true,
		Announce:   true,
		HandOver:   true,
		Users:      true,
		MaxMembers: maxMembers,
		OddMembers: true,
		// A rewrite takes seconds a GiB, in which the member answers nothing: less
		// than this is not worth it.
		DefragmentGain: 200 << 20,
	}
}

// Connect implements engine.Engine.
func (*Engine) Connect(access engine.Access) (engine.Session, error) {
	if access.Cluster == nil || access.Dial == nil {
		return nil, errors.New("connect to etcd: no cluster or no dialer given")
	}
	if access.TLS == nil && !access.Cluster.Spec.TLS.Disabled {
		return nil, fmt.Errorf("connect to etcd cluster %s: it speaks TLS and no client certificate was given",
			access.Cluster.Name)
	}
	return client.New(access, addresses.Of(access.Cluster)), nil
}
