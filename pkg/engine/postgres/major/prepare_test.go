//go:build linux

package major

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/drivertest"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/postgres/private"
)

func TestMain(m *testing.M) { drivertest.Main(m) }

// fresh makes data of the version of this machine, which is converted to itself as far as this package does it.
func fresh(t *testing.T) Upgrade {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		t.Skip("PostgreSQL is not installed: hack/postgres.sh does it")
	}
	scratch, err := os.MkdirTemp("", "u") //nolint:usetesting // that one's name is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(scratch) })
	p := Programs{Directory: "/", Major: filepath.Base(filepath.Dir(filepath.Dir(found[len(found)-1])))}
	u := Upgrade{Directory: filepath.Join(t.TempDir(), "data"), Former: p, Later: p, Scratch: scratch, User: "dbop"}
	u.target = filepath.Join(u.Directory, "pgdata")
	if err := u.do(u.former().Command(t.Context(), "initdb", "--pgdata", u.target, "--username", u.User, "--no-sync",
		"--encoding", "UTF8", "--locale", "C.UTF-8")); err != nil {
		t.Fatal(err)
	}
	return u
}

// within runs the server of the data for some work.
func (u Upgrade) within(t *testing.T, s private.Server, work func(context.Context, private.Server)) {
	t.Helper()
	if err := s.Run(t.Context(), func(ctx context.Context) error {
		work(ctx, s)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// makes runs commands in a database.
func (u Upgrade) makes(ctx context.Context, t *testing.T, s private.Server, database string, commands ...string) {
	t.Helper()
	if err := u.each(ctx, s, database, commands); err != nil {
		t.Error(err)
	}
}

// TestPrepared: the former server starts on data with transactions that a client prepared, and they are named.
func TestPrepared(t *testing.T) {
	t.Parallel()
	u := fresh(t)
	u.settings = [][2]string{{"max_prepared_transactions", "3"}}
	u.within(t, u.former(), func(ctx context.Context, s private.Server) {
		u.makes(ctx, t, s, maintenance, "BEGIN", "CREATE TABLE public.later (n int)", "PREPARE TRANSACTION 'mine'")
	})
	u.settings, u.target = nil, ""
	err := u.transfer(t.Context())
	if err == nil || !strings.Contains(err.Error(), "'mine' in the database template1") {
		t.Errorf("the transaction is not named: %v", err)
	}
}

// TestHalfDropped: a database whose DROP was interrupted is named.
func TestHalfDropped(t *testing.T) {
	t.Parallel()
	u := fresh(t)
	u.within(t, u.former(), func(ctx context.Context, s private.Server) {
		u.makes(ctx, t, s, maintenance, "CREATE DATABASE \"half gone\"",
			"UPDATE pg_database SET datconnlimit = -2 WHERE datname = 'half gone'")
		if err := u.prepare(ctx, s); err == nil || !strings.Contains(err.Error(), `DROP DATABASE "half gone"`) {
			t.Errorf("the database is not named: %v", err)
		}
	})
}

// TestOwner: what the owner of a database sets and makes there is not carried out by a conversion, which is a
// superuser, and a database that is read-only by default is converted as well (CVE-2018-1058).
func TestOwner(t *testing.T) {
	t.Parallel()
	u := fresh(t)
	u.within(t, u.former(), func(ctx context.Context, s private.Server) {
		u.makes(ctx, t, s, maintenance, "CREATE ROLE owner", "CREATE DATABASE app OWNER owner")
		u.makes(ctx, t, s, "app", "SET ROLE owner", "CREATE SCHEMA evil",
			"CREATE TABLE evil.pg_attribute AS SELECT 16384::oid AS attrelid, '{pg_attver=1}'::text[] AS attoptions",
			"CREATE FUNCTION evil.grab() RETURNS trigger LANGUAGE plpgsql AS "+
				"$$ BEGIN EXECUTE 'ALTER ROLE owner SUPERUSER'; RETURN NULL; END $$",
			"CREATE TRIGGER grab BEFORE UPDATE ON evil.pg_attribute EXECUTE FUNCTION evil.grab()",
			"CREATE FUNCTION evil.current_database() RETURNS name LANGUAGE plpgsql AS "+
				"$$ BEGIN EXECUTE 'ALTER ROLE owner SUPERUSER'; RETURN 'app'; END $$",
			"ALTER DATABASE app SET search_path = evil, pg_catalog", "ALTER DATABASE app SET role = owner",
			"ALTER DATABASE app SET statement_timeout = 1", "ALTER DATABASE app SET default_transaction_read_only = on")
		if err := u.prepare(ctx, s); err != nil {
			t.Errorf("before it: %v", err)
		}
	})
	u.within(t, u.later(), func(ctx context.Context, s private.Server) {
		if err := u.finish(ctx, s); err != nil {
			t.Errorf("after it: %v", err)
		}
		got, err := u.ask(ctx, s, maintenance, "SELECT rolsuper FROM pg_roles WHERE rolname = 'owner'")
		if err != nil || strings.Join(got, "") != "f" {
			t.Errorf("the owner of a database became a superuser by a conversion: %v, %v", got, err)
		}
	})
}
