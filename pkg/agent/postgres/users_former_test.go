//go:build linux

package postgres

import (
	"errors"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
)

// TestFormerRoles: users of a former version, which made a role a user, go on with what they had, also in sessions that
// are open; who comes later gets nothing but the database that was asked for.
func TestFormerRoles(t *testing.T) {
	t.Parallel()
	m := clients{alone(t), t}
	user, tries := m.user, m.tries
	m.sql("CREATE ROLE boss SUPERUSER")
	for _, name := range []string{"client", "alice", "bob", "ro", "dave", "eve"} {
		m.sql("CREATE ROLE " + name + "_owner NOLOGIN; CREATE ROLE " + name + " LOGIN PASSWORD 'p'; GRANT " + name +
			"_owner TO " + name + "; ALTER ROLE " + name + " SET role = " + name + "_owner")
	}
	for name, owner := range map[string]string{"app": "client_owner", "shop": "alice_owner", "old": "alice_owner",
		"high": "boss", "wide": "eve_owner"} {
		m.in("postgres", "CREATE DATABASE "+name+" OWNER "+owner)
		m.in("postgres", "REVOKE CONNECT ON DATABASE "+name+" FROM PUBLIC")
		m.in(name, "SET ROLE "+owner+"; CREATE TABLE public.t (n int)")
	}
	m.sql("ALTER ROLE eve_owner CREATEROLE")
	m.sql("GRANT pg_read_all_data TO ro_owner; GRANT CONNECT ON DATABASE app TO ro_owner")
	m.sql("GRANT client_owner TO bob; ALTER ROLE bob IN DATABASE app SET role = client_owner")
	m.in("app", "GRANT CREATE ON SCHEMA public TO bob_owner; SET ROLE bob_owner; CREATE TABLE public.bobs (n int)")
	m.sql("GRANT ALL ON DATABASE high TO dave_owner; GRANT pg_read_all_data, pg_write_all_data TO dave_owner")
	tries("dave", "high", "CREATE SCHEMA own; CREATE TABLE own.t (n int)", "")

	open := m.enters("dave", "high")
	user("client", api.Grant{})
	user("client.2", api.Grant{})
	user("bob", api.Grant{})
	user("ro", api.Grant{ReadOnly: true})
	user("ro.2", api.Grant{ReadOnly: true})
	user("dave", api.Grant{Name: "high"})
	user("alice", api.Grant{Name: "shop"})
	user("eve", api.Grant{Name: "wide"})
	tries("client.2", "app", "ALTER TABLE t ADD m int; CREATE TABLE more (n int)", "")
	tries("bob", "app", "ALTER TABLE bobs ADD m int; DROP TABLE more", "")
	tries("client", "app", "DROP TABLE bobs", "")
	for _, name := range []string{"ro", "ro.2"} {
		tries(name, "app", "SELECT * FROM t", "")
		tries(name, "app", "INSERT INTO t VALUES (1)", denied)
		tries(name, "postgres", "SELECT * FROM pg_authid", denied)
	}
	tries("ro", "postgres", "SET ROLE ro_owner", denied)
	open("INSERT INTO public.t VALUES (1); ALTER TABLE own.t ADD m int")
	tries("dave", "high", "INSERT INTO t VALUES (1); ALTER TABLE own.t ADD o int", "")
	tries("alice", "shop", "ALTER TABLE t ADD m int", "")
	tries("eve", "wide", "ALTER TABLE t ADD m int", "")
	for _, role := range []string{"pg_read_all_data", "pg_write_all_data"} {
		if who := m.sql("SELECT string_agg(rolname, ',') FROM pg_roles WHERE NOT rolsuper AND pg_has_role(oid, '" + role +
			"', 'MEMBER') AND rolname !~ '^pg_'"); who != "" {
			t.Errorf("%s is that of %s", role, who)
		}
	}

	// The role of alice owns a second database, and that of eve makes roles: neither is given to another user.
	user("fred", api.Grant{Name: "shop"})
	user("gina", api.Grant{Name: "wide"})
	user("hans", api.Grant{Name: "app"})
	tries("hans", "app", "ALTER TABLE t ADD o int", "")
	tries("fred", "shop", "INSERT INTO t VALUES (1); CREATE SCHEMA freds; CREATE TABLE freds.t (n int)", "")
	tries("fred", "shop", "SET ROLE alice_owner", denied)
	tries("fred", "old", "SELECT 1", denied)
	tries("alice", "shop", "INSERT INTO freds.t VALUES (1); CREATE TABLE later (n int)", "")
	tries("fred", "shop", "INSERT INTO later VALUES (1)", "")
	tries("gina", "wide", "INSERT INTO t VALUES (1)", "")
	tries("gina", "wide", "CREATE ROLE mine", denied)

	// Deleted, and made again: nothing of before.
	m.delete("alice", "ro", "ro.2", "dave", "client", "client.2")
	user("alice", api.Grant{Name: "hr", ReadOnly: true})
	tries("alice", "shop", "SELECT 1", denied)
	tries("alice", "hr", "SET ROLE alice_owner", denied)
	if left := m.sql("SELECT string_agg(rolname, ',') FROM pg_roles WHERE rolname ~ '^(ro|dave)'"); left != "" {
		t.Errorf("users that were deleted leave %s", left)
	}
	tries("bob", "app", "ALTER TABLE t ADD p int", "") // the role that owns the database stays

	// A role of the tool that may more than its database is given to nobody else.
	m.sql("GRANT pg_monitor TO dbop_owner_high")
	err := m.EnsureUser(t.Context(), api.NewUser{User: api.User{Name: "ida", Role: "ida",
		Grants: []api.Grant{{Name: "high"}}}, Password: "p"})
	_, refused := errors.AsType[api.Refused](err)
	if !refused || !strings.Contains(err.Error(), "it has the role pg_monitor") {
		t.Errorf("a role that has more is given to a user: %v", err)
	}
}
