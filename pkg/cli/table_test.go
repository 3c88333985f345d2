package cli

import (
	"strings"
	"testing"
)

// TestTable pins the look down, because the library changes it between minors.
func TestTable(t *testing.T) {
	tab := newTables().newTable("NAME", "LONG-TITLE", "AGE")
	tab.row("a", "x", "5s")
	tab.row("a-much-longer-name", "", "<unknown>")
	tab.row("spaces inside", "ü", "")
	var b strings.Builder
	if err := tab.print(&b, "  "); err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "table", b.String())
	for line := range strings.Lines(b.String()) {
		if strings.TrimRight(line, " \n") != strings.TrimSuffix(line, "\n") {
			t.Errorf("%q ends in spaces", line)
		}
	}
}

func TestTitlesHoldNoSpaces(t *testing.T) {
	out := newTables(formatWide)
	*out.flags.OutputFormat = formatWide
	for _, tab := range []*table{clusterTable(nil, nil, nil, []string{}, true, out), new(backupList).table(nil, out),
		historyTable(noon, nil, nil, true, out), statusSheet{}.table(out)} {
		for _, c := range tab.columns {
			if c != strings.ToUpper(c) || strings.Contains(c, " ") {
				t.Errorf("title %q", c)
			}
		}
		if first := tab.columns[0]; first != "NAME" && first != "NAMESPACE" && first != "MEMBER" {
			t.Errorf("first column is %q", first)
		}
	}
}
