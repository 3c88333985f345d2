//go:build linux

package movein

import (
	"strings"
	"testing"
)

// TestViews: a materialized view is filled if it is at the source, and is said to be as old as the copy.
func TestViews(t *testing.T) {
	t.Parallel()
	m := followed(t, "CREATE MATERIALIZED VIEW public.full AS SELECT 1 AS n",
		"CREATE MATERIALIZED VIEW public.none AS SELECT 1 AS n WITH NO DATA")
	const filled = "SELECT string_agg(relname, ' ') FROM pg_class WHERE relkind = 'm' AND relispopulated"
	if got := m.here(t, "shop", filled); got != "full" {
		t.Errorf("filled are %q", got)
	}
	left := strings.Join(m.Told().Left, "\n")
	if !strings.Contains(left, "REFRESH MATERIALIZED VIEW public.\"full\"") || strings.Contains(left, "none") {
		t.Errorf("what does not come along: %s", left)
	}
}

// TestCopyAgain: another copy of all data removes what the one before it made, and nothing else.
func TestCopyAgain(t *testing.T) {
	t.Parallel()
	m := followed(t, "CREATE TABLE public.orders (id int PRIMARY KEY)",
		"CREATE ROLE boss; CREATE ROLE seller LOGIN SUPERUSER; GRANT boss TO seller; CREATE ROLE gone", "CREATE DATABASE old")
	for _, statement := range []string{"CREATE ROLE mine", "CREATE DATABASE own"} {
		if _, err := m.server.Once(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	m.there(t, "shop", "ALTER ROLE seller NOSUPERUSER NOLOGIN; REVOKE boss FROM seller; DROP ROLE gone")
	m.there(t, "postgres", "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE database = 'old'")
	// The loop copies all again where a slot is lost.
	m.busy <- struct{}{}
	now, err := m.server.readMark(t.Context())
	if err == nil {
		err = m.server.writeMark(t.Context(), mark{Made: now.Made})
	}
	<-m.busy
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the old database goes", func() bool {
		_, err := m.ask(t.Context(), "postgres", "DROP DATABASE IF EXISTS old WITH (FORCE)")
		return err == nil
	})
	const left = "SELECT string_agg(datname, ' ' ORDER BY datname) FROM pg_database WHERE NOT datistemplate"
	until(t, "all data is copied again", func() bool {
		return m.Told().Linked && m.here(t, "postgres", left) == "own postgres shop"
	})
	got := m.here(t, "postgres", "SELECT string_agg(concat_ws(':', rolname, rolsuper, rolcanlogin), ' ' ORDER BY rolname)"+
		" FROM pg_roles WHERE rolname !~ '^pg_' AND rolname NOT IN ('dbop', 'postgres')")
	if want := "boss:f:f mine:f:f seller:f:f"; got != want {
		t.Errorf("the roles are %q, want %q", got, want)
	}
	if got := m.here(t, "postgres", "SELECT pg_has_role('seller', 'boss', 'MEMBER')"); got != "f" {
		t.Error("a membership stays that the source took back")
	}
}
