//go:build linux

package postgres

import (
	"context"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/users"
)

var (
	_ api.UserJudge = (*Server)(nil)
	_ api.SQLRunner = (*Server)(nil)
)

func (s *Server) users() users.Users {
	return users.Users{Server: s.Server, TLS: s.Certificate != "", EndSessions: s.EndSessions}
}

// Users lists who may log in, without the agent's own role.
func (s *Server) Users(ctx context.Context) ([]api.User, error) { return s.users().List(ctx) }

// EnsureUser makes a user, see users.Users. It waits until the data of a source is here.
func (s *Server) EnsureUser(ctx context.Context, u api.NewUser) error {
	if m := s.movesIn(); m != nil && !m.Following() {
		return api.Refused{Why: "make user " + u.Name + ": the data of the source is still being copied"}
	}
	return s.users().Ensure(ctx, u)
}

// HasUser implements api.UserJudge.
func (s *Server) HasUser(ctx context.Context, u api.User) (bool, error) { return s.users().Has(ctx, u) }

// DeleteUser removes a user, and ends its sessions on this server.
func (s *Server) DeleteUser(ctx context.Context, name string) error {
	return s.users().Delete(ctx, name)
}

// TestLogin reports whether clients come in with a password, or would where nobody is let in yet.
func (s *Server) TestLogin(ctx context.Context, name, password string) (bool, error) {
	if s.movesIn() != nil {
		return s.users().Verifies(ctx, name, password)
	}
	return s.users().TestLogin(ctx, name, password)
}

// RunOnce implements api.SQLRunner.
func (s *Server) RunOnce(ctx context.Context, body api.InitialSQL) error {
	if s.movesIn() != nil {
		return api.Refused{Why: "carry out initial SQL: the data is that of a source"}
	}
	return s.users().RunOnce(ctx, body)
}
