//go:build linux

package postgres

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestListSettings: the server tells what it has, what that is by default, and what it may be; and nothing of what the
// agent keeps.
func TestListSettings(t *testing.T) {
	t.Parallel()
	m := alone(t)
	settings := protocol.Settings{Version: 2, Values: map[string]string{"work_mem": "9MB"}}
	if err := m.reload(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	all, err := m.ListSettings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]api.Setting{}
	for _, one := range all {
		got[one.Name] = one
		if one.Kept && one.Value != "" {
			t.Errorf("the value of %s is told", one.Name)
		}
	}
	for name, want := range map[string]api.Setting{
		"work_mem": {Kind: "integer", Allowed: "64kB to 2147483647kB", Default: "4MB", Value: "9MB", Given: true},
		"max_locks_per_transaction": {Kind: "integer", Allowed: "10 to 2147483647", Default: "64", Value: "64", AtStart: true,
			Given: true},
		"jit":                  {Kind: "bool", Allowed: "on or off", Default: "on", Value: "on"},
		"vacuum_cost_delay":    {Kind: "real", Allowed: "0 to 100ms", Default: "0", Value: "0"},
		"statement_timeout":    {Kind: "integer", Allowed: "0 to 2147483647ms", Default: "0", Value: "0"},
		"bytea_output":         {Kind: "enum", Allowed: "escape, hex", Default: "hex", Value: "hex"},
		"fsync":                {Kind: "bool", Default: "on", Kept: true, Given: true},
		"recovery_target_name": {Kind: "string", Kept: true, AtStart: true},
		"application_name":     {Kind: "string"},
		"datestyle":            {Kind: "string", Default: "ISO, MDY", Value: "ISO, MDY"},
		"block_size":           {},
	} {
		if name != "block_size" {
			want.Name = name
		}
		if diff := cmp.Diff(want, got[name]); diff != "" {
			t.Error(diff)
		}
	}
}

func TestPretty(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ value, unit, want string }{
		{"16384", "8kB", "128MB"}, {"1073741823", "8kB", "8589934584kB"}, {"3", "8kB", "24kB"}, {"64", "MB", "64MB"},
		{"1024", "MB", "1GB"}, {"300", "s", "5min"}, {"90", "s", "90s"}, {"86400000", "ms", "1d"}, {"0.5", "ms", "0.5ms"},
		{"-1", "kB", "-1"}, {"0", "s", "0"}, {"100", "", "100"}, {"", "", ""}, {"17", "B", "17B"}, {"1", "16MB", "16MB"},
	} {
		if got := pretty(c.value, c.unit); got != c.want {
			t.Errorf("%s of %s is %q, want %q", c.value, c.unit, got, c.want)
		}
	}
}
