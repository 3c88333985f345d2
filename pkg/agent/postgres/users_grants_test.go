//go:build linux

package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
)

const denied = "42501"

// clients are users of a server.
type clients struct {
	*place
	t *testing.T
}

// tries carries out one statement as a user, and compares the code of what the server refuses.
func (c clients) tries(user, database, statement, want string) {
	c.t.Helper()
	config, err := pgconn.ParseConfig(fmt.Sprintf("host=127.0.0.1 port=%d dbname=postgres sslmode=disable", c.Port))
	if err != nil {
		c.t.Fatal(err)
	}
	config.User, config.Password, config.Database = user, "p", database
	conn, err := pgconn.ConnectConfig(c.t.Context(), config)
	if err == nil {
		_, err = conn.Exec(c.t.Context(), statement).ReadAll()
		_ = conn.Close(c.t.Context())
	}
	got := ""
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		got = refused.Code
	} else if err != nil {
		got = err.Error()
	}
	if got != want {
		c.t.Errorf("%s in %s, %s: %q, want %q", user, database, statement, got, want)
	}
}

// enters opens a session of a user.
func (c clients) enters(user, database string) func(statement string) {
	c.t.Helper()
	conn, err := pgconn.Connect(c.t.Context(), fmt.Sprintf(
		"host=127.0.0.1 port=%d user=%s password=p dbname=%s sslmode=disable", c.Port, user, database))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(c.t.Context())) })
	return func(statement string) {
		c.t.Helper()
		if _, err := conn.Exec(c.t.Context(), statement).ReadAll(); err != nil {
			c.t.Errorf("an open session of %s, %s: %v", user, statement, err)
		}
	}
}

// user makes one. A repeat changes nothing, and the agent knows that beforehand.
func (c clients) user(name string, grants ...api.Grant) {
	c.t.Helper()
	u := api.User{Name: name, Role: strings.TrimSuffix(name, ".2"), Grants: grants}
	for range 2 {
		if err := c.EnsureUser(c.t.Context(), api.NewUser{User: u, Password: "p"}); err != nil {
			c.t.Fatal(err)
		}
		c.has(true, u)
	}
}

// has compares what the agent says of a user.
func (c clients) has(want bool, u api.User) {
	c.t.Helper()
	if has, err := c.HasUser(c.t.Context(), u); err != nil || has != want {
		c.t.Errorf("it has %+v: %t, %v", u, has, err)
	}
}

func (c clients) delete(names ...string) {
	c.t.Helper()
	for _, name := range names {
		if err := c.DeleteUser(c.t.Context(), name); err != nil {
			c.t.Fatal(err)
		}
	}
}

// in carries out a statement in a database as the agent.
func (c clients) in(database, statement string) {
	c.t.Helper()
	if _, err := c.OnceIn(c.t.Context(), database, statement); err != nil {
		c.t.Fatalf("%s: %v", statement, err)
	}
}

// TestGrants: users who may write in a database use what the others made there, readers read it, and who was deleted
// and comes back with less has less.
func TestGrants(t *testing.T) {
	t.Parallel()
	m := clients{alone(t), t}
	user, tries := m.user, m.tries
	user("client", api.Grant{})
	user("bob", api.Grant{})
	user("ro", api.Grant{ReadOnly: true})
	tries("client", "app", "CREATE TABLE a (n int); INSERT INTO a VALUES (1)", "")
	tries("bob", "app", "SELECT * FROM a; INSERT INTO a VALUES (2); ALTER TABLE a ADD m int; CREATE TABLE b (n int)", "")
	tries("client", "app", "INSERT INTO b VALUES (1); CREATE SCHEMA s; CREATE TABLE s.c (n int)", "")
	tries("bob", "app", "SELECT * FROM s.c; DROP TABLE b", "")
	tries("ro", "app", "SELECT * FROM a; SELECT * FROM s.c", "")
	tries("ro", "app", "INSERT INTO a VALUES (3)", denied)
	tries("ro", "app", "CREATE TABLE d (n int)", denied)

	// The second login of a user while its password changes may what the first one may.
	user("bob.2", api.Grant{})
	tries("bob.2", "app", "INSERT INTO a VALUES (4); CREATE TABLE e (n int)", "")
	tries("client", "app", "DROP TABLE e", "")

	// Databases of two users, each of which the other one may use.
	user(`o'dd "1"`, api.Grant{Name: `d'b "1"`})
	user("carol", api.Grant{Name: "two"})
	user(`o'dd "1"`, api.Grant{Name: `d'b "1"`}, api.Grant{Name: "two"})
	user("carol", api.Grant{Name: `d'b "1"`}, api.Grant{Name: "two"})
	tries("carol", `d'b "1"`, "CREATE TABLE a (n int)", "")
	tries(`o'dd "1"`, `d'b "1"`, "DROP TABLE a", "")
	tries(`o'dd "1"`, "two", "CREATE TABLE a (n int)", "")
	tries("carol", "two", "DROP TABLE a", "")
	tries("carol", "app", "SELECT 1", denied)

	// A database that was made for a reader belongs to the first who may write there.
	user("reader", api.Grant{Name: "late", ReadOnly: true})
	user("writer", api.Grant{Name: "late"})
	tries("writer", "late", "CREATE TABLE a (n int)", "")
	tries("reader", "late", "SELECT * FROM a", "")

	// One that belongs to a superuser makes nobody a superuser.
	m.sql("CREATE ROLE boss SUPERUSER; CREATE ROLE other")
	m.sql("CREATE DATABASE high OWNER boss")
	m.in("high", "SET ROLE boss; CREATE TABLE public.a (n int)")
	user("dave", api.Grant{Name: "high"})
	tries("dave", "high", "INSERT INTO a VALUES (1); SELECT * FROM a; CREATE SCHEMA own; CREATE TABLE own.b (n int)", "")
	tries("dave", "high", "DROP TABLE a", denied)
	tries("dave", "high", "SET ROLE boss", denied)

	m.delete("bob.2", "bob")
	user("bob", api.Grant{ReadOnly: true})
	tries("bob", "app", "SELECT * FROM a", "")
	tries("bob", "app", "INSERT INTO a VALUES (5)", denied)
	m.delete("dave")
	user("dave", api.Grant{Name: "high", ReadOnly: true})
	tries("dave", "high", "SELECT * FROM a; SELECT * FROM own.b", "")
	tries("dave", "high", "INSERT INTO a VALUES (5)", denied)
	tries("dave", "high", "CREATE SCHEMA more", denied)
	m.delete("ro", "bob", "dave")
	if left := m.sql("SELECT string_agg(rolname, ',') FROM pg_roles WHERE rolname ~ '^(ro|bob|dave)'"); left != "" {
		t.Errorf("users that were deleted leave %s", left)
	}

	// Who could write becomes a reader, and the other way round.
	user("carol", api.Grant{Name: "two", ReadOnly: true})
	tries("carol", "two", "CREATE TABLE z (n int)", denied)
	tries("carol", "two", "SET ROLE dbop_owner_two", denied)
	tries("carol", `d'b "1"`, "SELECT 1", denied)
	user("carol", api.Grant{Name: "two"})
	tries("carol", "two", "CREATE TABLE z (n int)", "")
	got := m.sql("SELECT string_agg(r.rolname, ',') FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid " +
		"JOIN pg_roles u ON u.oid = m.member WHERE u.rolname = 'carol'")
	if got != "dbop_owner_two" {
		t.Errorf("carol has %s", got)
	}
}

// TestGrantsElsewhere: a grant gives nothing in another database, whatever its users had before.
func TestGrantsElsewhere(t *testing.T) {
	t.Parallel()
	m := clients{alone(t), t}
	user, tries := m.user, m.tries
	m.in("postgres", "CREATE DATABASE byhand")
	m.in("byhand", "CREATE TABLE public.pay (n int); INSERT INTO public.pay VALUES (1)")
	m.in("postgres", "CREATE TABLE public.mine (n int)")
	m.sql("CREATE ROLE boss SUPERUSER")
	for _, name := range []string{"one", "other"} {
		m.in("postgres", "CREATE DATABASE "+name+" OWNER boss")
		m.in(name, "SET ROLE boss; CREATE SCHEMA s; CREATE TABLE public.pay (n int); CREATE TABLE s.late (n serial)")
	}

	// A second writer of the database of a user that was made again for another one.
	user("alice", api.Grant{Name: "shop"})
	tries("alice", "shop", "CREATE TABLE t (n int)", "")
	m.delete("alice")
	user("alice", api.Grant{Name: "hr"})
	tries("alice", "hr", "CREATE TABLE secret (n int)", "")
	user("bob", api.Grant{Name: "shop"})
	tries("bob", "shop", "DROP TABLE t; CREATE TABLE t (n int)", "")
	tries("bob", "hr", "SELECT 1", denied)
	tries("bob", "shop", "SET ROLE dbop_owner_hr", denied)
	tries("alice", "shop", "SELECT 1", denied)
	m.delete("alice")
	user("alice", api.Grant{Name: "hr", ReadOnly: true})
	tries("alice", "shop", "SELECT 1", denied)
	tries("alice", "hr", "SELECT * FROM secret", "")
	tries("alice", "hr", "DROP TABLE secret", denied)

	// Readers read what there is and what comes, and nothing in another database.
	tries("alice", "byhand", "SELECT * FROM pay", denied)
	user("carol", api.Grant{Name: "hr"})
	tries("carol", "hr", "CREATE SCHEMA more; CREATE TABLE more.t (n serial); CREATE VIEW more.v AS SELECT 1", "")
	tries("alice", "hr", "SELECT * FROM more.t; SELECT * FROM more.v; SELECT last_value FROM more.t_n_seq", "")

	// A database of a superuser, by a reader and a writer, in both orders.
	user("rita", api.Grant{Name: "one", ReadOnly: true})
	user("sam", api.Grant{Name: "one"})
	tries("sam", "one", "INSERT INTO pay VALUES (1); INSERT INTO s.late DEFAULT VALUES; DELETE FROM s.late", "")
	tries("sam", "one", "CREATE SCHEMA own; CREATE TABLE own.t (n int)", "")
	tries("rita", "one", "SELECT * FROM pay; SELECT * FROM own.t", "")
	tries("rita", "one", "DELETE FROM pay", denied)
	m.in("one", "SET ROLE boss; CREATE SCHEMA next; CREATE TABLE next.t (n serial)")
	tries("sam", "one", "INSERT INTO next.t DEFAULT VALUES", "")
	tries("rita", "one", "SELECT * FROM next.t", "")
	for _, name := range []string{"sam", "rita"} {
		tries(name, "other", "SELECT * FROM pay", denied)
		tries(name, "byhand", "SELECT * FROM pay", denied)
		tries(name, "postgres", "SELECT * FROM mine", denied)
		tries(name, "postgres", "INSERT INTO mine VALUES (1)", denied)
	}
	m.delete("sam", "rita")
	user("sam", api.Grant{Name: "hr"})
	tries("sam", "one", "SELECT 1", denied)
}
