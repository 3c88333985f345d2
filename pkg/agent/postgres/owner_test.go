//go:build linux

package postgres

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
)

// TestOwner: what the owner of a database sets and makes there is not carried out by the agent, which is a superuser,
// and limits that people set end none of its work (CVE-2018-1058).
func TestOwner(t *testing.T) {
	t.Parallel()
	m, ctx := alone(t), t.Context()
	client := api.NewUser{User: api.User{Name: "client", Role: "client", Grants: []api.Grant{{}}}, Password: "p"}
	if err := m.EnsureUser(ctx, client); err != nil {
		t.Fatal(err)
	}
	grab := "BEGIN EXECUTE 'ALTER ROLE client SUPERUSER'; RETURN; END"
	for _, statement := range []string{
		"SET ROLE dbop_owner_app; CREATE FUNCTION public.unnest(oidvector) RETURNS SETOF oid LANGUAGE plpgsql AS $$ " +
			grab + " $$",
		"SET ROLE dbop_owner_app; CREATE FUNCTION public.unnest(text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$ " +
			grab + " $$",
		"SET ROLE dbop_owner_app; CREATE SCHEMA evil; CREATE FUNCTION evil.current_database() RETURNS name " +
			"LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'ALTER ROLE client SUPERUSER'; RETURN 'app'; END $$",
		"SET ROLE dbop_owner_app; ALTER DATABASE app SET search_path = evil, public, pg_catalog",
		"SET ROLE dbop_owner_app; ALTER DATABASE app SET role = dbop_owner_app",
		"SET ROLE dbop_owner_app; ALTER DATABASE app SET default_transaction_isolation = serializable",
		"SET ROLE dbop_owner_app; ALTER DATABASE app SET statement_timeout = 1",
		"SET ROLE dbop_owner_app; CREATE TABLE public.t (a text COLLATE \"C\" PRIMARY KEY)",
	} {
		if _, err := m.OnceIn(ctx, "app", statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	if _, err := m.readOrders(ctx); err != nil {
		t.Errorf("the collations: %v", err)
	}
	if err := m.RunOnce(ctx, api.InitialSQL{Role: "client", Statements: "CREATE TABLE here (n int)"}); err != nil {
		t.Errorf("initial SQL: %v", err)
	}
	if got := m.sql("SELECT rolsuper FROM pg_roles WHERE rolname = 'client'"); got != "f" {
		t.Error("the owner of a database became a superuser through the agent")
	}
	got, err := m.OnceIn(ctx, "app", "SELECT schemaname || '.' || tablename FROM pg_tables WHERE tablename = 'here'")
	if err != nil || len(got[0]) != 1 || got[0][0][0] != "public.here" {
		t.Errorf("initial SQL made its table in %v: %v", got, err)
	}

	m.sql("ALTER ROLE ALL SET statement_timeout = 1; ALTER ROLE ALL SET lock_timeout = 1")
	got, err = m.Once(ctx, "SELECT pg_sleep(0.05), current_setting('lock_timeout'), current_setting('client_encoding')")
	if err != nil || strings.Join(got[0][0][1:], " ") != "0 UTF8" {
		t.Errorf("a limit of people ends the work of the agent: %v %v", got, err)
	}
}
