//go:build linux

package users

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
)

const (
	// reserved begins the names of roles that the tool makes for itself. No user has such a name.
	reserved = "dbop_"
	// writersPrefix and readersPrefix begin the names of the two roles of a database, mostRole is how many bytes of a name
	// the server keeps.
	writersPrefix = reserved + "owner_"
	readersPrefix = reserved + "reader_"
	mostRole      = 63
)

// roleOf names a role of a database. Where the name of the database is too long, its hash takes its place.
func roleOf(prefix, database string) string {
	if name := prefix + database; len(name) <= mostRole {
		return name
	}
	sum := sha256.Sum256([]byte(database))
	return prefix + hex.EncodeToString(sum[:16])
}

// access is who may use a database. Nobody can log in as one of its roles. Users have them, and thereby what they may
// there and nowhere else: what belongs to the server as a whole, such as pg_read_all_data, is given to nobody.
type access struct {
	database string
	// owner owns the database; "" where there is none yet.
	owner string
	// supers says that the owner is a superuser, whose role is given to nobody.
	supers bool
	// writers is the role as which users write there, readers the one of those who only read.
	writers, readers string
	// known are those of the two that there are.
	known map[string]bool
}

// owns says whether all that users make there belongs to who owns the database.
func (a access) owns() bool { return a.owner == a.writers }

// standing asks what a role may besides what belongs to one database: in words, whether it has rights in others, and
// whether somebody can log in as it. The server notes what depends on a role in pg_shdepend, also what is in other
// databases.
const standing = `SELECT r.rolname, r.rolsuper, r.rolcanlogin, array_to_string(ARRAY[
 CASE WHEN r.rolsuper OR r.rolcreatedb OR r.rolcreaterole OR r.rolreplication OR r.rolbypassrls
  THEN 'it has attributes such as CREATEDB' END,
 (SELECT 'it has the role ' || string_agg(quote_ident(g.rolname), ', ') FROM pg_auth_members m
  JOIN pg_roles g ON g.oid = m.roleid WHERE m.member = r.oid),
 (SELECT 'it owns something in ' || string_agg(DISTINCT coalesce('database ' || quote_ident(x.datname), 'the server'),
  ', ') FROM others o LEFT JOIN pg_database x ON x.oid = o.place WHERE o.role = r.oid AND o.deptype = 'o')], '; '),
 EXISTS (SELECT FROM others o WHERE o.role = r.oid)`

// others are what depends on roles outside of a database.
const others = `WITH others AS (SELECT refobjid AS role, deptype,
  CASE WHEN dbid <> 0 THEN dbid WHEN classid = 'pg_database'::regclass THEN objid ELSE 0::oid END AS place
 FROM pg_shdepend WHERE refclassid = 'pg_authid'::regclass AND CASE WHEN dbid <> 0 THEN dbid
  WHEN classid = 'pg_database'::regclass THEN objid ELSE 0::oid END
 IS DISTINCT FROM (SELECT oid FROM pg_database WHERE datname = %s)) `

// readAccess finds the roles of a database. A role that owns it and may nothing else is the one of its writers: former
// versions made such ones, one a user. So is one that the user has anyway, for then it gets no more than it had. Any
// other owner keeps its role, and the writers get rights beside it.
func (s Users) readAccess(ctx context.Context, name string, has func(role string) bool) (access, error) {
	a := access{database: name, writers: roleOf(writersPrefix, name), readers: roleOf(readersPrefix, name),
		known: map[string]bool{}}
	in := local.Literal(name)
	got, err := s.Once(ctx, fmt.Sprintf(others, in)+standing+" FROM pg_database d JOIN pg_roles r ON r.oid = d.datdba "+
		"WHERE d.datname = "+in+"; "+fmt.Sprintf(others, in)+standing+" FROM pg_roles r WHERE r.rolname IN ("+
		local.Literal(a.writers)+", "+local.Literal(a.readers)+")")
	if err != nil {
		return a, fmt.Errorf("find who may use database %s: %w", name, err)
	}
	for _, r := range got[0] {
		a.owner, a.supers = r[0], r[1] == "t"
		bare := r[2] == "f" && r[3] == "" && r[4] == "f"
		if !a.supers && a.owner != a.writers && (bare || has(a.owner)) {
			a.writers = a.owner
			a.known[a.owner] = true
		}
	}
	for _, r := range got[1] {
		a.known[r[0]] = true
		if r[0] != a.writers && r[0] != a.readers {
			continue
		}
		more := r[3]
		if r[2] == "t" {
			more = strings.TrimPrefix(more+"; somebody can log in as it", "; ")
		}
		if more != "" {
			return a, api.Refused{Why: fmt.Sprintf("let a user use database %s: the role %s is that of its users, and may do "+
				"more: %s; take that from it first, by REVOKE, ALTER ROLE, or ALTER DATABASE ... OWNER TO ...", name, r[0], more)}
		}
	}
	return a, nil
}

// makeAccess makes what is missing of a database and of its roles. A database that the agent itself owns, as former
// versions made for readers, becomes that of its writers. CREATE DATABASE runs in no transaction: a crash after it
// leaves what the next try finds.
func (s Users) makeAccess(ctx context.Context, a *access, readOnly bool) error {
	owned := a.owner == "" || a.owner == local.User
	var change []string
	if (owned || !readOnly) && !a.known[a.writers] {
		change = append(change, "CREATE ROLE "+local.Identifier(a.writers)+" NOLOGIN")
		a.known[a.writers] = true
	}
	if readOnly && !a.known[a.readers] {
		change = append(change, "CREATE ROLE "+local.Identifier(a.readers)+" NOLOGIN")
		a.known[a.readers] = true
	}
	if len(change) > 0 {
		if err := s.Execute(ctx, "make the roles of database "+a.database, change); err != nil {
			return err
		}
	}
	name, writers := local.Identifier(a.database), local.Identifier(a.writers)
	if a.owner == "" {
		_, err := s.Once(ctx, "CREATE DATABASE "+name+" OWNER "+writers)
		if err != nil && !isDuplicate(err) {
			return local.RefusedBy("make database "+a.database, err)
		}
		a.owner = a.writers
	}
	change = []string{"REVOKE CONNECT ON DATABASE " + name + " FROM PUBLIC"}
	if a.owner == local.User {
		change = append(change, "ALTER DATABASE "+name+" OWNER TO "+writers)
		a.owner, a.supers = a.writers, false
	}
	if a.known[a.writers] {
		change = append(change, "GRANT ALL ON DATABASE "+name+" TO "+writers)
	}
	if a.known[a.writers] && !a.owns() && !a.supers { // who owns the database uses what is made there
		change = append(change, "GRANT "+writers+" TO "+local.Identifier(a.owner))
	}
	if a.known[a.readers] {
		change = append(change, "GRANT CONNECT ON DATABASE "+name+" TO "+local.Identifier(a.readers))
	}
	return s.Execute(ctx, "let users into database "+a.database, change)
}
