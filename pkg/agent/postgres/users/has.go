//go:build linux

package users

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
)

// Has reports whether a user can log in and has every right that Ensure gives, on what there is as well as on what is
// made later, and no other that the tool gave.
func (s Users) Has(ctx context.Context, u api.User) (bool, error) {
	name := local.Literal(u.Name)
	got, err := s.Once(ctx, fmt.Sprintf(`SELECT 1 FROM pg_authid WHERE rolname = %s AND rolcanlogin AND rolinherit
 AND rolpassword IS NOT NULL AND rolsuper = %t AND (rolsuper OR NOT (rolcreatedb OR rolcreaterole OR rolreplication));
 SELECT substr(c, 6) FROM pg_db_role_setting s JOIN pg_roles r ON r.oid = s.setrole, unnest(s.setconfig) AS c
 WHERE s.setdatabase = 0 AND c LIKE 'role=%%' AND r.rolname = %s`, name, u.Admin, name))
	if err != nil {
		return false, fmt.Errorf("judge user %s: %w", u.Name, err)
	}
	if len(got[0]) == 0 || u.Admin {
		return len(got[0]) > 0, nil
	}
	h, err := s.readHeld(ctx, u)
	if err != nil {
		return false, err
	}
	wanted, acts, first := map[string]bool{}, map[string]string{}, ""
	for _, g := range u.Grants {
		a, err := s.accessFor(ctx, g, h)
		if err != nil {
			return false, err
		}
		if whole, err := s.hasAccess(ctx, a, g.ReadOnly); err != nil || !whole {
			return false, err
		}
		if g.ReadOnly {
			wanted[a.readers] = true
			continue
		}
		wanted[a.writers] = true
		if first == "" {
			first = a.writers
		}
		if a.writers != first {
			acts[a.database] = a.writers
		}
	}
	role := ""
	if len(got[1]) > 0 {
		role = got[1][0][0]
	}
	former := formerRole(u.Role)
	extra := slices.ContainsFunc(slices.Collect(maps.Keys(h.roles)), func(role string) bool {
		return !wanted[role] && (role == former || strings.HasPrefix(role, reserved))
	})
	lacks := slices.ContainsFunc(slices.Collect(maps.Keys(wanted)), func(role string) bool { return !h.roles[role] })
	return role == first && maps.Equal(acts, h.acts) && !extra && !lacks, nil
}

// accessFor finds the roles of the database of a grant.
func (s Users) accessFor(ctx context.Context, g api.Grant, h held) (access, error) {
	name := g.Name
	if name == "" {
		name = Database
	}
	return s.readAccess(ctx, name, func(role string) bool { return !g.ReadOnly && h.both[role] })
}

// hasAccess says whether makeAccess and giveRights would change nothing.
func (s Users) hasAccess(ctx context.Context, a access, readOnly bool) (bool, error) {
	if a.owner == "" || a.owner == local.User || !a.known[a.writers] && !readOnly || !a.known[a.readers] && readOnly {
		return false, nil
	}
	may := []string{"NOT EXISTS (SELECT FROM aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) x " +
		"WHERE x.grantee = 0 AND x.privilege_type = 'CONNECT')"}
	if a.known[a.writers] {
		for _, right := range []string{"CONNECT", "CREATE", "TEMPORARY"} {
			may = append(may, "has_database_privilege("+local.Literal(a.writers)+", d.oid, '"+right+"')")
		}
	}
	if a.known[a.writers] && !a.owns() && !a.supers {
		may = append(may, "pg_has_role("+local.Literal(a.owner)+", "+local.Literal(a.writers)+", 'USAGE')")
	}
	if a.known[a.readers] {
		may = append(may, "has_database_privilege("+local.Literal(a.readers)+", d.oid, 'CONNECT')")
	}
	got, err := s.Once(ctx, "SELECT "+strings.Join(may, " AND ")+" FROM pg_database d WHERE d.datname = "+
		local.Literal(a.database))
	if err != nil || len(got[0]) == 0 || got[0][0][0] != "t" {
		return false, err
	}
	for role, r := range a.rights() {
		got, err := s.OnceIn(ctx, a.database, r.missing(role)+"; "+r.gives(role, a.makers(role)))
		if err != nil || len(got[0]) > 0 || got[1][0][0] != "t" {
			return false, err
		}
	}
	return true, nil
}

// gives asks whether a role has the rights on what some makers make later.
func (r rights) gives(role string, makers []string) string {
	var wanted []string
	for _, maker := range makers {
		for kind, may := range map[string][]string{"r": r.tables, "S": r.sequences, "n": {"USAGE"}} {
			for _, one := range may {
				wanted = append(wanted, fmt.Sprintf("(%s, '%s', '%s')", local.Literal(maker), kind, one))
			}
		}
	}
	return `SELECT bool_and(EXISTS (SELECT FROM pg_default_acl d JOIN pg_roles m ON m.oid = d.defaclrole,
 aclexplode(d.defaclacl) x JOIN pg_roles g ON g.oid = x.grantee WHERE d.defaclnamespace = 0 AND m.rolname = w.maker
 AND d.defaclobjtype = w.kind::"char" AND x.privilege_type = w.may AND g.rolname = ` + local.Literal(role) + `))
 FROM (VALUES ` + strings.Join(wanted, ", ") + `) AS w(maker, kind, may)`
}
