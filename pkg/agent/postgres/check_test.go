//go:build linux

package postgres

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProblems(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		out  string
		want []string
	}{
		"none": {"", nil},
		"an index and a table": {"btree index \"app.pg_catalog.pg_class_oid_index\":\n" +
			"    ERROR:  item order invariant violated\n    DETAIL:  Lower index tid=(1,2)\n" +
			"heap table \"app.pg_catalog.pg_class\", block 0, offset 1:\n    xmin 9 is in the future\n",
			[]string{`btree index "app.pg_catalog.pg_class_oid_index": ERROR: item order invariant violated ` +
				"DETAIL: Lower index tid=(1,2)",
				`heap table "app.pg_catalog.pg_class", block 0, offset 1: xmin 9 is in the future`}},
		"much": {strings.Repeat("heap table \"a\":\n  it\n", 25), append(strings.Split(strings.TrimSuffix(
			strings.Repeat("heap table \"a\": it\n", 20), "\n"), "\n"), "and 5 more")},
		"long": {"heap " + strings.Repeat("ü", 300), []string{"heap " + strings.Repeat("ü", 197) + "..."}},
	} {
		if d := cmp.Diff(test.want, problems(test.out)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
