//go:build linux

package major

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine/postgres/private"
)

// TestNoWayBack: of data that has no way back, a table without statistics and an extension that can't be updated are
// left as they are, and all others are not. A copy that is no member yet is refused.
func TestNoWayBack(t *testing.T) {
	t.Parallel()
	u := fresh(t)
	u.within(t, u.later(), func(ctx context.Context, s private.Server) {
		u.makes(ctx, t, s, maintenance, "CREATE DATABASE app")
		u.makes(ctx, t, s, "app",
			"CREATE FUNCTION public.path(n int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN n; END $$",
			"CREATE TABLE public.broken AS SELECT n FROM generate_series(1, 100) AS n",
			"CREATE INDEX ON public.broken (public.path(n))",
			"CREATE OR REPLACE FUNCTION public.path(n int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS "+
				"$$ BEGIN RETURN not_in_the_path(n); END $$",
			"CREATE TABLE public.whole AS SELECT n FROM generate_series(1, 100) AS n",
			"UPDATE pg_extension SET extversion = '0.9' WHERE extname = 'plpgsql'")
		if err := os.WriteFile(filepath.Join(u.scripts(), "update_extensions.sql"),
			[]byte("\\connect app\nALTER EXTENSION plpgsql UPDATE;\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		copied := u
		copied.target = ""
		if err := copied.extend(ctx, s, nil); err == nil || !strings.Contains(err.Error(), "no update path") {
			t.Errorf("an extension of a copy: %v", err)
		}
		if err := copied.analyze(ctx, s, nil); err == nil || !strings.Contains(err.Error(), "not_in_the_path(integer)") {
			t.Errorf("statistics of a copy: %v", err)
		}
		if err := u.finish(ctx, s); err != nil {
			t.Errorf("on the volume of a member: %v", err)
		}
		got, err := u.ask(ctx, s, "app", "SELECT DISTINCT relname FROM pg_statistic JOIN pg_class c ON c.oid = starelid "+
			"WHERE relnamespace = 'public'::regnamespace")
		if err != nil || !slices.Equal(got, []string{"whole"}) {
			t.Errorf("there are statistics of %v, %v", got, err)
		}
	})
}

// TestCareful: a lack of room is told, so that a repeat goes on with more.
func TestCareful(t *testing.T) {
	t.Parallel()
	u := fresh(t)
	u.within(t, u.later(), func(ctx context.Context, s private.Server) {
		for command, want := range map[string]bool{"SELECT 1": true, "SELECT 1 / 0": true,
			"DO $$ BEGIN RAISE SQLSTATE '53100'; END $$": false, "DO $$ BEGIN RAISE SQLSTATE '58030'; END $$": false} {
			if err := u.each(ctx, s, maintenance, []string{careful(command, "NULL")}); (err == nil) != want {
				t.Errorf("%s: %v", command, err)
			}
		}
	})
}
