//go:build linux

package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
)

// Database is the database that is made for applications.
const Database = "app"

// ownerOf is the role that owns what the users of a role make, so that all of them own the same.
func ownerOf(role string) string { return role + "_owner" }

// ensureGrants makes the owner and the databases of a user's grants, and returns the statements that give them.
func (s *Server) ensureGrants(ctx context.Context, u api.User, known local.Rows,
	has func([][]string, string) bool) ([]string, error) {
	owner := ownerOf(u.Role)
	if !has(known[0], owner) {
		err := s.Execute(ctx, "make role "+owner, []string{"CREATE ROLE " + local.Identifier(owner) + " NOLOGIN"})
		if err != nil {
			return nil, err
		}
	}
	out := []string{
		fmt.Sprintf("GRANT %s TO %s", local.Identifier(owner), local.Identifier(u.Name)),
		fmt.Sprintf("ALTER ROLE %s SET role = %s", local.Identifier(u.Name), local.Literal(owner)),
	}
	for _, g := range u.Grants {
		name := g.Name
		if name == "" {
			name = Database
		}
		d := database{name: name, owner: owner}
		if i := slices.IndexFunc(known[1], func(r []string) bool { return r[0] == name }); i >= 0 {
			d.owner, d.supers = known[1][i][1], known[1][i][2] == "t"
		} else {
			if g.ReadOnly {
				d.owner, d.supers = local.User, true // until somebody may write there
			}
			if err := s.makeDatabase(ctx, d); err != nil {
				return nil, err
			}
		}
		if g.ReadOnly && d.owner == owner {
			return nil, api.Refused{Why: fmt.Sprintf("let %s only read database %s: the database belongs to it, since "+
				"it could write there before; choose another name for the user", u.Name, name)}
		}
		out = append(out, "REVOKE CONNECT ON DATABASE "+local.Identifier(name)+" FROM PUBLIC")
		if g.ReadOnly {
			out = append(out, d.show(owner)...)
		} else {
			out = append(out, d.share(u.Name, owner)...)
		}
	}
	return out, nil
}

// database is one that users may use.
type database struct {
	name, owner string
	supers      bool // its owner is a superuser
}

// makeDatabase makes a database. CREATE DATABASE runs in no transaction: a crash after it leaves a database that the
// next try finds.
func (s *Server) makeDatabase(ctx context.Context, d database) error {
	_, err := s.Once(ctx, "CREATE DATABASE "+local.Identifier(d.name)+" OWNER "+local.Identifier(d.owner))
	if err != nil && !isDuplicate(err) {
		return local.RefusedBy("make database "+d.name, err)
	}
	return nil
}

// share are the statements by which a user, whose things belong to a role, may read and write in a database.
func (d database) share(user, role string) []string {
	name := local.Identifier(d.name)
	all := "GRANT ALL ON DATABASE " + name + " TO " + local.Identifier(role)
	switch {
	case d.owner == role:
		return []string{all}
	case d.owner == local.User:
		return []string{"ALTER DATABASE " + name + " OWNER TO " + local.Identifier(role)}
	case d.supers: // who has the role of a superuser is one
		return []string{all, "GRANT pg_read_all_data, pg_write_all_data TO " + local.Identifier(role)}
	}
	// The role goes to the user itself: two roles that own a database each could not have one another.
	return []string{fmt.Sprintf("GRANT %s TO %s", local.Identifier(d.owner), local.Identifier(user)),
		fmt.Sprintf("ALTER ROLE %s IN DATABASE %s SET role = %s", local.Identifier(user), name, local.Literal(d.owner))}
}

// show are the statements by which a role may read a database.
func (d database) show(role string) []string {
	return []string{fmt.Sprintf("GRANT CONNECT ON DATABASE %s TO %s", local.Identifier(d.name), local.Identifier(role)),
		"GRANT pg_read_all_data TO " + local.Identifier(role)}
}

// takeRights takes from a role what it may in databases that others own, so that a later user of that name does not
// have it.
func (s *Server) takeRights(ctx context.Context, role string) error {
	got, err := s.Once(ctx, `SELECT d.datname FROM pg_roles r JOIN pg_database d ON d.datdba <> r.oid
 AND EXISTS (SELECT 1 FROM aclexplode(d.datacl) a WHERE a.grantee = r.oid) WHERE r.rolname = `+local.Literal(role)+`;
 SELECT m.rolname FROM pg_roles r JOIN pg_auth_members a ON a.member = r.oid JOIN pg_roles m ON m.oid = a.roleid
 WHERE r.rolname = `+local.Literal(role))
	if err != nil {
		return fmt.Errorf("take the rights of role %s: %w", role, err)
	}
	var change []string
	for _, d := range got[0] {
		change = append(change, "REVOKE ALL ON DATABASE "+local.Identifier(d[0])+" FROM "+local.Identifier(role))
	}
	for _, m := range got[1] {
		change = append(change, "REVOKE "+local.Identifier(m[0])+" FROM "+local.Identifier(role))
	}
	if len(change) == 0 {
		return nil
	}
	return s.Execute(ctx, "take the rights of role "+role, change)
}

func isDuplicate(err error) bool {
	answer, ok := errors.AsType[*pgconn.PgError](err)
	return ok && answer.Code == "42P04"
}
