//go:build linux

package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/movein"
)

// Users lists who may log in, without the agent's own role.
func (s *Server) Users(ctx context.Context) ([]api.User, error) {
	got, err := s.Once(ctx, `SELECT r.rolname, r.rolsuper, d.datname,
 has_database_privilege(r.oid, d.oid, 'CREATE')
 FROM pg_roles r LEFT JOIN pg_database d ON NOT r.rolsuper AND NOT d.datistemplate AND d.datname <> 'postgres'
 AND has_database_privilege(r.oid, d.oid, 'CONNECT')
 WHERE r.rolcanlogin AND r.rolname <> '`+local.User+`' AND r.rolname !~ `+
		local.Literal(movein.Ways+"$")+` ORDER BY 1, 3`)
	if err != nil {
		return nil, fmt.Errorf("list the users: %w", err)
	}
	var out []api.User
	for _, row := range got[0] {
		if len(out) == 0 || out[len(out)-1].Name != row[0] {
			u := api.User{Name: row[0], Admin: row[1] == "t"}
			if !u.Admin {
				u.Role = strings.TrimSuffix(row[0], ".2")
			}
			out = append(out, u)
		}
		if row[2] != "" {
			u := &out[len(out)-1]
			u.Grants = append(u.Grants, api.Grant{Name: row[2], ReadOnly: row[3] != "t"})
		}
	}
	return out, nil
}

// EnsureUser makes a user in one transaction, and before it the databases that it may use. A user owns nothing itself:
// at its login it takes the role that owns. All who may write in a database take the role that owns the database, so
// that each may use what the others made.
func (s *Server) EnsureUser(ctx context.Context, u api.NewUser) error {
	if u.Name == local.User || strings.HasPrefix(u.Name, "pg_") || u.Name == "" || len(u.Name) > 55 ||
		strings.ContainsRune(u.Name, 0) {
		return api.Refused{Why: fmt.Sprintf("%q is no name for a user of PostgreSQL", u.Name)}
	}
	if m := s.movesIn(); m != nil && !m.Following() {
		return api.Refused{Why: "make user " + u.Name + ": the data of the source is still being copied"}
	}
	known, err := s.Once(ctx, "SELECT rolname, rolpassword FROM pg_authid; "+
		"SELECT d.datname, r.rolname, r.rolsuper FROM pg_database d JOIN pg_roles r ON r.oid = d.datdba")
	if err != nil {
		return fmt.Errorf("make user %s: %w", u.Name, err)
	}
	verifier := ""
	if i := slices.IndexFunc(known[0], func(r []string) bool { return r[0] == u.Name }); i >= 0 {
		verifier = known[0][i][1]
	}
	if !local.Verifies(verifier, u.Password) {
		if verifier, err = local.NewVerifier(u.Password); err != nil {
			return fmt.Errorf("make user %s: %w", u.Name, err)
		}
	}
	has := func(list [][]string, name string) bool {
		return slices.ContainsFunc(list, func(r []string) bool { return r[0] == name })
	}
	var change []string
	if !has(known[0], u.Name) {
		change = append(change, "CREATE ROLE "+local.Identifier(u.Name))
	}
	rights := "NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION"
	if u.Admin {
		rights = "SUPERUSER"
	}
	change = append(change, fmt.Sprintf("ALTER ROLE %s LOGIN INHERIT %s PASSWORD %s", local.Identifier(u.Name), rights,
		local.Literal(verifier)))
	if !u.Admin {
		grants, err := s.ensureGrants(ctx, u.User, known, has)
		if err != nil {
			return err
		}
		change = append(change, grants...)
	}
	return s.Execute(ctx, "make user "+u.Name, change)
}

// DeleteUser removes a user, and ends its sessions on this server. Its role stays as long as something is its own, or
// somebody else has it.
func (s *Server) DeleteUser(ctx context.Context, name string) error {
	if name == local.User {
		return api.Refused{Why: "the agent enters as " + local.User}
	}
	if err := s.Execute(ctx, "delete user "+name, []string{"DROP ROLE IF EXISTS " + local.Identifier(name)}); err != nil {
		return err
	}
	if err := s.EndSessions(ctx, name); err != nil {
		return err
	}
	owner := ownerOf(strings.TrimSuffix(name, ".2"))
	got, err := s.Once(ctx, `SELECT 1 FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid WHERE r.rolname = `+
		local.Literal(owner))
	if err != nil || len(got[0]) > 0 {
		return err
	}
	if err := s.takeRights(ctx, owner); err != nil {
		return err
	}
	err = s.Execute(ctx, "delete role "+owner, []string{"DROP ROLE IF EXISTS " + local.Identifier(owner)})
	if refused := (api.Refused{}); errors.As(err, &refused) {
		return nil // it owns something
	}
	return err
}

// TestLogin comes the way that clients come: by TCP, with TLS where that is on. Where no client is let in yet, it
// compares the password with what the server keeps of it.
func (s *Server) TestLogin(ctx context.Context, name, password string) (bool, error) {
	if s.movesIn() != nil {
		got, err := s.Once(ctx, "SELECT rolpassword FROM pg_authid WHERE rolcanlogin AND rolname = "+local.Literal(name))
		return err == nil && len(got[0]) == 1 && local.Verifies(got[0][0][0], password), err
	}
	mode := "disable"
	if s.Certificate != "" {
		mode = "require" // it is the agent's own server
	}
	config, err := pgconn.ParseConfig(fmt.Sprintf(
		"host=127.0.0.1 port=%d dbname=postgres sslmode=%s application_name=login", s.Port, mode))
	if err != nil {
		return false, fmt.Errorf("prepare a login: %w", err)
	}
	config.User, config.Password = name, password
	conn, err := pgconn.ConnectConfig(ctx, config)
	var refused *pgconn.PgError
	switch {
	case err == nil:
		return true, conn.Close(ctx)
	case errors.As(err, &refused) && strings.HasPrefix(refused.Code, "28"):
		return false, nil
	case errors.As(err, &refused) &&
		refused.Code == "42501": // the password was right, and the database is not the user's
		return true, nil
	}
	return false, fmt.Errorf("log in as %s: %w", name, err)
}
