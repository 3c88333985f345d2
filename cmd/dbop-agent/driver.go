//go:build linux

package main

import (
	"context"
	"net"
	"os"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/guard"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/member"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey"
)

// driver runs the server of an engine.
type driver interface {
	member.Server
	// Handle takes a connection of the agent of a replica, which asks for the data of this server.
	Handle(from protocol.MemberID, conn net.Conn)
	// StopNow kills every process of the server, and returns when none is left.
	StopNow() error
}

// releaser is a driver that knows the release of its server.
type releaser interface {
	// Release is a version such as "17.5".
	Release() string
}

// renewer is a driver whose server can load another certificate while it runs.
type renewer interface {
	// Renew returns once new connections are shown the certificate that the file holds.
	Renew(ctx context.Context) error
}

// openServer opens the driver of the engine that the configuration names.
func (a *agent) openServer() (err error) {
	c := a.config
	dial := func(id protocol.MemberID) (net.Conn, error) { return a.group.Dial(id, forLog) }
	if v := c.Valkey; v != nil {
		a.server, err = valkey.Open(valkey.Config{
			ID: c.Member, Directory: c.Directory, Sockets: c.Sockets, Program: v.Program, Listen: v.Listen, Port: v.Port,
			UsersFile: v.Users, Certificate: v.Certificate, Key: v.Key, Authority: v.Authority, Dial: dial, Serves: a.serves,
			Told: a.told, SourceSecret: c.SourceSecret, Others: a.guard.Others, Now: guard.Now, Report: a.report, Log: os.Stdout,
		})
		return err
	}
	a.server, err = postgres.Open(postgres.Config{
		Server: local.Server{Bin: c.Postgres.Bin, Sockets: c.Sockets, Port: c.Postgres.Port},
		ID:     c.Member, Directory: c.Directory, Listen: c.Postgres.Listen, Certificate: c.Postgres.Certificate,
		Key: c.Postgres.Key, Authority: c.Postgres.Authority, SourceSecret: c.SourceSecret, Dial: dial, Serves: a.serves,
		Others: a.guard.Others, Now: guard.Now, Report: a.report, Log: os.Stdout,
	})
	return err
}
