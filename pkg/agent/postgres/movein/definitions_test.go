//go:build linux

package movein

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/source"
)

// TestDefinitions: what changes definitions is noticed, and what only tidies up is not.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	from := start(t, local.User)
	do := func(statement string) {
		t.Helper()
		if _, err := from.Once(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	sums := func() map[string]string {
		t.Helper()
		got, err := from.Once(t.Context(), source.Definitions)
		if err != nil {
			t.Fatal(err)
		}
		return source.Sums(got[0])
	}
	do("CREATE TABLE public.t (id int PRIMARY KEY, x text); CREATE VIEW public.v AS SELECT id FROM public.t; " +
		"CREATE MATERIALIZED VIEW public.m AS SELECT id FROM public.t; CREATE SEQUENCE public.q; " +
		"CREATE TYPE public.e AS ENUM ('a'); CREATE ROLE one; CREATE ROLE two; CREATE INDEX by_x ON public.t (x); " +
		"CREATE TABLE public.parent (id int)")
	before := sums()
	for _, c := range []struct{ want, statement string }{
		{"", "ANALYZE"},
		{"", "VACUUM FULL public.t"},
		{"", "TRUNCATE public.t"},
		{"", "REINDEX TABLE public.t"},
		{"", "REINDEX INDEX CONCURRENTLY public.by_x"},
		{"", "REFRESH MATERIALIZED VIEW public.m"},
		{"", "SELECT nextval('public.q')"},
		{"", "ALTER DATABASE postgres SET default_transaction_read_only = off"},
		{"", "ALTER DATABASE postgres SET dbop.closed_for = 'x'"},
		{"tables", "ALTER TABLE public.t ENABLE ROW LEVEL SECURITY"},
		{"tables", "ALTER TABLE public.t FORCE ROW LEVEL SECURITY"},
		{"tables", "ALTER TABLE public.t SET (fillfactor = 50)"},
		{"policies", "CREATE POLICY p ON public.t USING (true)"},
		{"policies", "ALTER POLICY p ON public.t USING (false)"},
		{"roles", "GRANT one TO two"},
		{"roles", "ALTER ROLE one SET work_mem = '1MB'"},
		{"views", "CREATE OR REPLACE VIEW public.v AS SELECT id + 1 - 1 AS id FROM public.t"},
		{"views", "CREATE RULE r AS ON INSERT TO public.v DO INSTEAD NOTHING"},
		{"indexes", "CREATE INDEX lower_x ON public.t (lower(x))"},
		{"indexes", "DROP INDEX public.by_x"},
		{"sequences", "ALTER SEQUENCE public.q INCREMENT 7"},
		{"types", "ALTER TYPE public.e ADD VALUE 'b'"},
		{"privileges", "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO one"},
		{"settings", "ALTER DATABASE postgres SET work_mem = '2MB'"},
		{"foreign servers", "CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w"},
		{"foreign servers", "CREATE USER MAPPING FOR one SERVER s"},
		{"operators", "CREATE OPERATOR public.=== (LEFTARG = int, RIGHTARG = int, FUNCTION = int4eq)"},
		{"casts", "CREATE CAST (int AS public.e) WITH INOUT"},
		{"statistics", "CREATE STATISTICS public.st ON id, x FROM public.t"},
		{"tables", "CREATE TABLE public.child (id int); ALTER TABLE public.child INHERIT public.parent"},
		{"tables", "ALTER TABLE public.child NO INHERIT public.parent"},
	} {
		do(c.statement)
		now := sums()
		got := source.Changed(before, now)
		if c.want == "" && len(got) > 0 || c.want != "" && !strings.Contains(strings.Join(got, ","), c.want) {
			t.Errorf("%s: changed are %q, want %q", c.statement, got, c.want)
		}
		before = now
	}
	if diff := cmp.Diff(before, sums()); diff != "" {
		t.Error(diff)
	}
}
