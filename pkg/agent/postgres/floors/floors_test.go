package floors

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const controldata = "max_connections setting:              100\nmax_worker_processes setting:         8\n" +
	"max_prepared_xacts setting:           0\nfloat8 argument passing:              by value\n"

func TestRaise(t *testing.T) {
	t.Parallel()
	got := Written(controldata).Raise(map[string]string{"max_connections": "40", "max_worker_processes": "16",
		"work_mem": "4MB"})
	want := map[string]string{"max_connections": "100", "max_worker_processes": "16", "max_prepared_transactions": "0",
		"work_mem": "4MB"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, c := range []struct{ set, want string }{
		{"", "100"}, {"99", "100"}, {"0x63", "100"}, {"1.5", "100"}, {"junk", "100"},
		{"100", "100"}, {"0x100", "0x100"}, {" 0400 ", " 0400 "}, {"2.5e2", "2.5e2"},
	} {
		got := Written(controldata).Raise(map[string]string{"max_connections": c.set})["max_connections"]
		if got != c.want {
			t.Errorf("%q beside 100 is %q, want %q", c.set, got, c.want)
		}
	}
}

// TestAbove: what nobody sets has the value that the server gives it.
func TestAbove(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		settings map[string]string
		want     []string
	}{
		{nil, []string{"max_connections", "max_prepared_transactions"}},
		{map[string]string{"max_connections": "0xc8", "max_prepared_transactions": "10"}, nil},
		{map[string]string{"max_connections": "300", "max_prepared_transactions": "9", "max_locks_per_transaction": "10"},
			[]string{"max_locks_per_transaction", "max_prepared_transactions"}},
	} {
		have := Asked(map[string]string{"max_connections": "200", "max_prepared_transactions": "10"})
		if diff := cmp.Diff(c.want, have.Above(Asked(c.settings))); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.settings, diff)
		}
	}
}

func TestCheckConnections(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		most, reserved string
		want           bool
	}{{"", "", true}, {"6", "", true}, {"5", "", false}, {"", "95", false}, {"101", "95", true}} {
		err := CheckConnections(map[string]string{"max_connections": c.most, "reserved_connections": c.reserved})
		if (err == nil) != c.want {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
