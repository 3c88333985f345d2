//go:build linux

package postgres

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
)

// TestGrants: users who may write in a database use what the others made there, readers read it, and who was deleted
// and comes back with less has less.
func TestGrants(t *testing.T) {
	t.Parallel()
	m, ctx := alone(t), t.Context()
	// tries carries out one statement as a user, and returns the code of what the server refuses.
	tries := func(user, database, statement, want string) {
		t.Helper()
		config, err := pgconn.ParseConfig(fmt.Sprintf("host=127.0.0.1 port=%d dbname=postgres sslmode=disable", m.Port))
		if err != nil {
			t.Fatal(err)
		}
		config.User, config.Password, config.Database = user, "p", database
		conn, err := pgconn.ConnectConfig(ctx, config)
		if err == nil {
			_, err = conn.Exec(ctx, statement).ReadAll()
			_ = conn.Close(ctx)
		}
		got := ""
		if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
			got = refused.Code
		} else if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s in %s, %s: %q, want %q", user, database, statement, got, want)
		}
	}
	user := func(name string, grants ...api.Grant) {
		t.Helper()
		for range 2 { // a repeat changes nothing
			err := m.EnsureUser(ctx, api.NewUser{User: api.User{Name: name, Role: strings.TrimSuffix(name, ".2"),
				Grants: grants}, Password: "p"})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	const denied = "42501"
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
	if _, err := m.OnceIn(ctx, "high", "SET ROLE boss; CREATE TABLE public.a (n int)"); err != nil {
		t.Fatal(err)
	}
	user("dave", api.Grant{Name: "high"})
	tries("dave", "high", "INSERT INTO a VALUES (1); SELECT * FROM a; CREATE SCHEMA own; CREATE TABLE own.b (n int)", "")
	tries("dave", "high", "DROP TABLE a", denied)
	tries("dave", "high", "SET ROLE boss", denied)

	for _, name := range []string{"bob.2", "bob"} {
		if err := m.DeleteUser(ctx, name); err != nil {
			t.Fatal(err)
		}
	}
	user("bob", api.Grant{ReadOnly: true})
	tries("bob", "app", "SELECT * FROM a", "")
	tries("bob", "app", "INSERT INTO a VALUES (5)", denied)
	if err := m.DeleteUser(ctx, "dave"); err != nil { // what it made in that database keeps its role
		t.Fatal(err)
	}
	user("dave", api.Grant{Name: "high", ReadOnly: true})
	tries("dave", "high", "SELECT * FROM a", "")
	tries("dave", "high", "INSERT INTO a VALUES (5)", denied)
	tries("dave", "high", "CREATE SCHEMA more", denied)
	for _, name := range []string{"ro", "bob"} {
		if err := m.DeleteUser(ctx, name); err != nil {
			t.Fatal(err)
		}
	}
	if left := m.sql("SELECT string_agg(rolname, ',') FROM pg_roles WHERE rolname ~ '^(ro|bob)'"); left != "" {
		t.Errorf("users that were deleted leave %s", left)
	}
	err := m.EnsureUser(ctx, api.NewUser{User: api.User{Name: "carol", Role: "carol",
		Grants: []api.Grant{{Name: "two", ReadOnly: true}}}, Password: "p"})
	if _, ok := errors.AsType[api.Refused](err); !ok {
		t.Errorf("the owner of a database becomes its reader: %v", err)
	}
}
