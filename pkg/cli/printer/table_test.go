package printer

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/golden"
)

// TestTable pins the format, because the library changes it between minors.
func TestTable(t *testing.T) {
	tab := NewTables().NewTable("NAME", "LONG-TITLE", "AGE")
	tab.Row("a", "x", "5s")
	tab.Row("a-much-longer-name", "", "<unknown>")
	tab.Row("spaces inside", "ü", "")
	var b strings.Builder
	if err := tab.Print(&b, "  "); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "table", b.String())
	for line := range strings.Lines(b.String()) {
		if strings.TrimRight(line, " \n") != strings.TrimSuffix(line, "\n") {
			t.Errorf("%q ends in spaces", line)
		}
	}
}
