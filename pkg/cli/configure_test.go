package cli

import (
	"strings"
	"testing"
)

func TestConfigureLists(t *testing.T) {
	b := newBench(t)
	b.must("create", "my-db", "--engine", "fakedb", "--version", "3.5", "--config", "color=green", "--progress", "none")
	for name, args := range map[string][]string{
		"configure":      {"configure", "my-db"},
		"configure_wide": {"configure", "my-db", "-o", "wide"},
		"configure_json": {"configure", "my-db", "-o", "json"},
	} {
		b.golden(name, b.run(args...))
	}
	if len(b.writes) > 0 {
		t.Errorf("wrote %v", b.writes)
	}
}

func TestConfigureChanges(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"configure", "my-db", "--set", "color=green"}, ExitDone, "fakedb/my-db configured"},
		{[]string{"configure", "my-db", "--set", "color=green"}, ExitDone, "fakedb/my-db unchanged"},
		{[]string{"configure", "my-db", "--set", "colour=green"}, ExitRefused, "hint: did you mean color?"},
		{[]string{"configure", "my-db", "--set", "color"}, ExitUsage, "--set takes NAME=VALUE"},
		{[]string{"configure", "my-db", "--set", "color=red", "--unset", "color"}, ExitUsage, "both set and unset"},
		{[]string{"configure", "my-db", "--unset", "color"}, ExitDone, "fakedb/my-db configured"},
		{[]string{"resize", "my-db"}, ExitUsage, "say what is to change"},
		{[]string{"resize", "my-db", "--memory", "much"}, ExitUsage, "is not an amount"},
		{[]string{"resize", "my-db", "--memory", "1Gi"}, ExitDone, "fakedb/my-db resized"},
		{[]string{"resize", "my-db", "--memory-limit", "512Mi"}, ExitRefused, "the request of 1Gi memory is above its limit of 512Mi"},
		{[]string{"resize", "my-db", "--storage", "512Mi"}, ExitRefused, "can't make one smaller"},
		{[]string{"resize", "my-db", "--storage", "2Gi", "--dry-run"}, ExitDone, "fakedb/my-db resized (dry run)"},
	} {
		r := b.run(c.args...)
		if r.code != c.code || !strings.Contains(r.out+r.err, c.says) {
			t.Errorf("%v: exit %d, want %d and %q\n%s%s", c.args, r.code, c.code, c.says, r.out, r.err)
		}
	}
}
