//go:build linux

package movein

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWithoutStamps: what 17.12 notes on columns by itself is left out of a dump, and nothing else.
func TestWithoutStamps(t *testing.T) {
	t.Parallel()
	const dump = `CREATE TABLE public.t (
    x text
);
ALTER TABLE ONLY public.t ALTER COLUMN n SET (pg_attver=22150672);
ALTER TABLE ONLY public."a t" ALTER COLUMN "an x" SET (pg_attver=22150672, n_distinct=5);
ALTER TABLE ONLY public.t ALTER COLUMN x SET (n_distinct=5);
ALTER TABLE ONLY public.t ALTER COLUMN n SET DEFAULT nextval('public.t_n_seq'::regclass);
COMMENT ON TABLE public.t IS 'SET (pg_attver=1);';`
	const want = `CREATE TABLE public.t (
    x text
);
ALTER TABLE ONLY public."a t" ALTER COLUMN "an x" SET (n_distinct=5);
ALTER TABLE ONLY public.t ALTER COLUMN x SET (n_distinct=5);
ALTER TABLE ONLY public.t ALTER COLUMN n SET DEFAULT nextval('public.t_n_seq'::regclass);
COMMENT ON TABLE public.t IS 'SET (pg_attver=1);';`
	from, to := filepath.Join(t.TempDir(), "dump"), filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(from, []byte(dump), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := rewrite(from, to, withoutStamps); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(to)
	if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}
