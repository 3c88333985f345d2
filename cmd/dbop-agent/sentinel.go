//go:build linux

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/guard"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/proxy"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/sentinel"
)

// sentinelConfig says where clients that know Redis or Valkey Sentinel connect to. Name is what they call the database.
// Address is where the agents of the members listen for them, Peers are exceptions.
type sentinelConfig struct {
	Name    string                       `json:"name"`
	Listen  string                       `json:"listen"`
	Address string                       `json:"address,omitempty"`
	Peers   map[protocol.MemberID]string `json:"peers,omitempty"`
}

// allower is a driver that knows the users of its server.
type allower interface {
	// Allows says whether a user has a password.
	Allows(user, password string) bool
}

// advice is what tells clients where the primary is.
type advice interface {
	// Set takes the present route, and never waits.
	Set(r protocol.Route)
	// Run answers until the context is done.
	Run(ctx context.Context) error
}

// openAdvice prepares the answers for clients of Sentinel. A witness knows no users: it passes them to a member that
// does.
func (a *agent) openAdvice() error {
	c := a.config.Sentinel
	if c == nil {
		return nil
	}
	address := func(id protocol.MemberID) string { return addressOf(id, c.Address, c.Peers) }
	if a.server == nil {
		p, err := proxy.Open(proxy.Config{Member: a.config.Member, ReadOnly: c.Listen, Address: address,
			Leader: a.group.Leader, Now: guard.Now, Report: a.report})
		a.advice = p
		return err
	}
	users, knows := a.server.(allower)
	if !knows {
		return errors.New("answer clients of Sentinel: the server of this member is no Valkey and no Redis")
	}
	a.advice = sentinel.New(sentinel.Config{
		Member: a.config.Member, Name: c.Name, Listen: c.Listen, TLS: a.config.Valkey.encryption(),
		Server: a.config.serverAddress, Agent: address, Members: a.dataMembers, Allows: users.Allows, Now: guard.Now,
		Report: a.report,
	})
	return nil
}

// encryption is that of the server. The files are read for each client: certificates are renewed.
func (v *valkeyConfig) encryption() *tls.Config {
	if v.Certificate == "" {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		own, err := tls.LoadX509KeyPair(v.Certificate, v.Key)
		if err != nil {
			return nil, fmt.Errorf("read the certificate of the server: %w", err)
		}
		return &own, nil
	}}
}

func (a *agent) dataMembers() (ids []protocol.MemberID) {
	a.member.View(func(n *protocol.Node) { ids = n.Document().Data() })
	return ids
}

// route tells all that lead clients.
func (a *agent) route(r protocol.Route) {
	a.proxy.Set(r)
	if a.advice != nil {
		a.advice.Set(r)
	}
	if a.leader != nil {
		a.leader.Set(r)
	}
}

// advise answers clients of Sentinel until the context is done, if anybody asked for that.
func (a *agent) advise(ctx context.Context) error {
	if a.advice == nil {
		<-ctx.Done()
		return nil
	}
	return a.advice.Run(ctx)
}
