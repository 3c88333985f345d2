//go:build linux

package movein

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/source"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestNewRoles: a role that is here keeps its password, and nobody is named as the grantor who may not grant here.
func TestNewRoles(t *testing.T) {
	t.Parallel()
	const dump = `--
SET client_encoding = 'UTF8';
CREATE ROLE dbop;
ALTER ROLE dbop WITH SUPERUSER PASSWORD 'SCRAM-SHA-256$1';
CREATE ROLE dbop2;
ALTER ROLE dbop2 WITH NOLOGIN;
CREATE ROLE "odd name";
ALTER ROLE "odd name" SET work_mem TO '1MB';
GRANT dbop2 TO "odd name" WITH INHERIT TRUE GRANTED BY postgres;
`
	const want = `--
SET client_encoding = 'UTF8';
CREATE ROLE dbop2;
ALTER ROLE dbop2 WITH NOLOGIN;
GRANT dbop2 TO "odd name" WITH INHERIT TRUE;
`
	if diff := cmp.Diff(want, newRoles(dump, [][]string{{"dbop"}, {`"odd name"`}})); diff != "" {
		t.Error(diff)
	}
}

// TestDiffers names what does not come along.
func TestDiffers(t *testing.T) {
	t.Parallel()
	then := mark{Schemas: map[string]map[string]string{"a": {"tables": "1", "types": "2"}, "b": {"tables": "3"}}}
	m := &Move{source: source.Source{Source: protocol.Source{Address: "there:5432"}}}
	of := func(name string, sums map[string]string) source.Database {
		return source.Database{Name: name, Schema: sums}
	}
	a, b := of("a", then.Schemas["a"]), of("b", then.Schemas["b"])
	for name, c := range map[string]struct {
		now  []source.Database
		want string
	}{
		"nothing":      {now: []source.Database{a, b}},
		"a table":      {[]source.Database{of("a", map[string]string{"tables": "9", "types": "2"}), b}, `"a": tables`},
		"no type left": {[]source.Database{of("a", map[string]string{"tables": "1"}), b}, `"a": types`},
		"a new one":    {[]source.Database{a, b, of("c", nil)}, `"c" is new`},
		"one less":     {[]source.Database{a}, `"b" is gone`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := m.differs(then, source.Survey{Databases: c.now})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("it says %v, want %q", err, c.want)
			}
		})
	}
}

// TestComparison: what was not counted is not said to agree.
func TestComparison(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct{ counted, all int }{
		"":                               {0, 0},
		"no table was counted within 2s": {0, 3},
		"every table (3) has as many rows as at the source":                                       {3, 3},
		"2 of 3 tables have as many rows as at the source, the others were not counted within 2s": {2, 3},
	} {
		if got := comparison(c.counted, c.all); got != want {
			t.Errorf("%d of %d: %q, want %q", c.counted, c.all, got, want)
		}
	}
}
