//go:build linux

// Package users makes the roles of a server as which people and programs log in, and what they may in its databases.
package users

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/movein"
)

// Users are those of one server.
type Users struct {
	local.Server
	// TLS says that clients connect by TLS alone.
	TLS bool
	// EndSessions ends the sessions of a user that is gone.
	EndSessions func(ctx context.Context, user string) error
}

// List lists who may log in, without the agent's own role.
func (s Users) List(ctx context.Context) ([]api.User, error) {
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

// Ensure makes a user, and before it the databases that it may use. A user owns nothing itself: all who may write
// in a database act as the role that its writers share, so that each may use what the others made. The user can log in
// once all is there; a crash before that leaves what a repeat completes.
func (s Users) Ensure(ctx context.Context, u api.NewUser) error {
	if u.Name == local.User || strings.HasPrefix(u.Name, "pg_") || strings.HasPrefix(u.Name, reserved) || u.Name == "" ||
		len(u.Name) > 55 || strings.ContainsRune(u.Name, 0) {
		return api.Refused{Why: fmt.Sprintf("%q is no name for a user of PostgreSQL", u.Name)}
	}
	known, err := s.Once(ctx, "SELECT rolpassword FROM pg_authid WHERE rolname = "+local.Literal(u.Name))
	if err != nil {
		return fmt.Errorf("make user %s: %w", u.Name, err)
	}
	verifier := ""
	var change []string
	if len(known[0]) > 0 {
		verifier = known[0][0][0]
	} else {
		change = append(change, "CREATE ROLE "+local.Identifier(u.Name))
	}
	if !local.Verifies(verifier, u.Password) {
		if verifier, err = local.NewVerifier(u.Password); err != nil {
			return fmt.Errorf("make user %s: %w", u.Name, err)
		}
	}
	rights := "NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION"
	if u.Admin {
		rights = "SUPERUSER"
	}
	change = append(change, fmt.Sprintf("ALTER ROLE %s LOGIN INHERIT %s PASSWORD %s", local.Identifier(u.Name), rights,
		local.Literal(verifier)))
	if !u.Admin {
		grants, err := s.ensureGrants(ctx, u.User)
		if err != nil {
			return err
		}
		change = append(change, grants...)
	}
	return s.Execute(ctx, "make user "+u.Name, change)
}

// Delete removes a user, and ends its sessions on this server. What users made stays with the roles of the
// databases. A role of a former version goes with it.
func (s Users) Delete(ctx context.Context, name string) error {
	if name == local.User || strings.HasPrefix(name, reserved) {
		return api.Refused{Why: name + " is a role of the agent"}
	}
	role := strings.TrimSuffix(name, ".2")
	former := formerRole(role)
	had, err := s.Once(ctx, `SELECT 1 FROM pg_auth_members a JOIN pg_roles g ON g.oid = a.roleid
 JOIN pg_roles m ON m.oid = a.member WHERE g.rolname = `+local.Literal(former)+" AND m.rolname = "+local.Literal(name)+
		" OR m.rolname = "+local.Literal(former)+" AND starts_with(g.rolname, '"+reserved+"')")
	if err != nil {
		return fmt.Errorf("delete user %s: %w", name, err)
	}
	if err := s.Execute(ctx, "delete user "+name, []string{"DROP ROLE IF EXISTS " + local.Identifier(name)}); err != nil {
		return err
	}
	if err := s.EndSessions(ctx, name); err != nil {
		return err
	}
	if len(had[0]) == 0 {
		return nil
	}
	return s.deleteFormer(ctx, role, former)
}

// deleteFormer takes the rights of the role of a former version once nobody has the two names of its user, and deletes
// it, unless it owns something or somebody else has it.
func (s Users) deleteFormer(ctx context.Context, role, former string) error {
	got, err := s.Once(ctx, "SELECT 1 FROM pg_roles WHERE rolname IN ("+local.Literal(role)+", "+
		local.Literal(secondName(role))+`); SELECT 1 FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid
 WHERE r.rolname = `+local.Literal(former))
	if err != nil || len(got[0]) > 0 {
		return err
	}
	if err := s.takeRights(ctx, former); err != nil || len(got[1]) > 0 {
		return err
	}
	err = s.Execute(ctx, "delete role "+former, []string{"DROP ROLE IF EXISTS " + local.Identifier(former)})
	if isRefused(err) {
		return nil // it owns something
	}
	return err
}

// Verifies compares a password with what the server keeps of it: no client may be let in yet.
func (s Users) Verifies(ctx context.Context, name, password string) (bool, error) {
	got, err := s.Once(ctx, "SELECT rolpassword FROM pg_authid WHERE rolcanlogin AND rolname = "+local.Literal(name))
	return err == nil && len(got[0]) == 1 && local.Verifies(got[0][0][0], password), err
}

// TestLogin comes the way that clients come: by TCP, with TLS where that is on.
func (s Users) TestLogin(ctx context.Context, name, password string) (bool, error) {
	mode := "disable"
	if s.TLS {
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
