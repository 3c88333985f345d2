//go:build linux

package users

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
)

// Database is the database that is made for applications.
const Database = "app"

// formerRole is the role that former versions made for a user: it owns what the user made, and had the user's rights.
func formerRole(role string) string { return role + "_owner" }

// secondName is the name with which a user alternates at a rotation. Both may the same.
func secondName(role string) string { return role + ".2" }

// held is what a user has of the roles that the tool gives.
type held struct {
	// roles are those that the user has, and both are those that it has by one of its two names.
	roles, both map[string]bool
	// acts are the databases where it takes a role at its login.
	acts map[string]string
	// cluster are the rights on all databases that the role of a former version has.
	cluster []string
	// owns are the databases in which that role owns something; "" is the server.
	owns []string
	// shared says that others have that role.
	shared bool
}

// readHeld asks what a user has.
func (s Users) readHeld(ctx context.Context, u api.User) (h held, err error) {
	name, former := local.Literal(u.Name), local.Literal(formerRole(u.Role))
	names := "(" + name + ", " + local.Literal(u.Role) + ", " + local.Literal(secondName(u.Role)) + ")"
	const members = `FROM pg_auth_members a JOIN pg_roles g ON g.oid = a.roleid JOIN pg_roles m ON m.oid = a.member`
	got, err := s.Once(ctx, "SELECT g.rolname, m.rolname "+members+" WHERE m.rolname IN "+names+`;
 SELECT d.datname, substr(c, 6) FROM pg_db_role_setting s JOIN pg_roles r ON r.oid = s.setrole
 JOIN pg_database d ON d.oid = s.setdatabase, unnest(s.setconfig) AS c WHERE c LIKE 'role=%' AND r.rolname = `+name+`;
 SELECT g.rolname `+members+` WHERE g.rolname IN ('pg_read_all_data', 'pg_write_all_data') AND m.rolname = `+
		former+`;
 SELECT DISTINCT coalesce(d.datname, '') FROM pg_shdepend s JOIN pg_roles r ON r.oid = s.refobjid
 LEFT JOIN pg_database d ON d.oid = s.dbid
 WHERE s.refclassid = 'pg_authid'::regclass AND s.deptype = 'o' AND r.rolname = `+former+`;
 SELECT 1 `+members+" WHERE g.rolname = "+former+" AND m.rolname NOT IN "+names)
	if err != nil {
		return h, fmt.Errorf("read the roles of user %s: %w", u.Name, err)
	}
	h = held{roles: map[string]bool{}, both: map[string]bool{}, acts: map[string]string{}}
	for _, r := range got[0] {
		h.both[r[0]] = true
		if r[1] == u.Name {
			h.roles[r[0]] = true
		}
	}
	for _, r := range got[1] {
		h.acts[r[0]] = r[1]
	}
	for _, r := range got[2] {
		h.cluster = append(h.cluster, r[0])
	}
	for _, r := range got[3] {
		h.owns = append(h.owns, r[0])
	}
	h.shared = len(got[4]) > 0
	return h, nil
}

// ensureGrants makes the databases of a user's grants and their roles, and returns the statements by which the user has
// those roles, and no others that the tool gave.
func (s Users) ensureGrants(ctx context.Context, u api.User) ([]string, error) {
	h, err := s.readHeld(ctx, u)
	if err != nil {
		return nil, err
	}
	wanted, acts, first := map[string]bool{}, map[string]string{}, ""
	former := formerRole(u.Role)
	for _, g := range u.Grants {
		a, err := s.accessFor(ctx, g, h)
		if err != nil {
			return nil, err
		}
		if err := s.makeAccess(ctx, &a, g.ReadOnly); err != nil {
			return nil, err
		}
		if err := s.giveRights(ctx, a); err != nil {
			return nil, err
		}
		if g.ReadOnly {
			wanted[a.readers] = true
			continue
		}
		wanted[a.writers], acts[a.database] = true, a.writers
		if first == "" {
			first = a.writers
		}
		if h.both[former] && former != a.writers && slices.Contains(h.owns, a.database) {
			moved, err := s.moveFormer(ctx, former, a, h.owns)
			if err != nil {
				return nil, err
			}
			wanted[former] = !moved
		}
	}
	return h.change(u, former, wanted, acts, first), nil
}

// moveFormer gives what the role of a former version owns in a database to the writers there. It owns nothing else, or
// the command would reach that, too; otherwise the user keeps the role.
func (s Users) moveFormer(ctx context.Context, former string, a access, owns []string) (bool, error) {
	if len(owns) > 1 {
		return false, nil
	}
	return true, s.ExecuteIn(ctx, a.database, "give what "+former+" owns to "+a.writers,
		[]string{"REASSIGN OWNED BY " + local.Identifier(former) + " TO " + local.Identifier(a.writers)})
}

// change are the statements by which a user has the wanted roles. At its login it takes the first one in which it
// writes, and another one in the databases of that.
func (h held) change(u api.User, former string, wanted map[string]bool, acts map[string]string,
	first string) (out []string) {
	user := local.Identifier(u.Name)
	given := map[string]bool{former: true}
	for _, role := range h.acts {
		given[role] = true
	}
	for _, role := range slices.Sorted(maps.Keys(h.roles)) {
		if !wanted[role] && (given[role] || strings.HasPrefix(role, reserved)) {
			out = append(out, "REVOKE "+local.Identifier(role)+" FROM "+user)
		}
	}
	for _, role := range slices.Sorted(maps.Keys(wanted)) {
		if wanted[role] {
			out = append(out, "GRANT "+local.Identifier(role)+" TO "+user)
			if h.both[former] && !h.shared && role != former { // sessions that took that role go on
				out = append(out, "GRANT "+local.Identifier(role)+" TO "+local.Identifier(former))
			}
		}
	}
	for _, role := range h.cluster {
		if h.both[former] {
			out = append(out, "REVOKE "+local.Identifier(role)+" FROM "+local.Identifier(former))
		}
	}
	for _, database := range slices.Sorted(maps.Keys(h.acts)) {
		if acts[database] == "" || acts[database] == first {
			out = append(out, fmt.Sprintf("ALTER ROLE %s IN DATABASE %s RESET role", user, local.Identifier(database)))
		}
	}
	if first == "" {
		return append(out, "ALTER ROLE "+user+" RESET role")
	}
	out = append(out, "ALTER ROLE "+user+" SET role = "+local.Literal(first))
	for _, database := range slices.Sorted(maps.Keys(acts)) {
		if acts[database] != first {
			out = append(out, fmt.Sprintf("ALTER ROLE %s IN DATABASE %s SET role = %s", user, local.Identifier(database),
				local.Literal(acts[database])))
		}
	}
	return out
}

// takeRights takes from a role what it may in databases that others own, so that a later user of that name does not
// have it.
func (s Users) takeRights(ctx context.Context, role string) error {
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
