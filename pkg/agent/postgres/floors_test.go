//go:build linux

package postgres

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRaise(t *testing.T) {
	t.Parallel()
	got := raise(map[string]string{"max_connections": "40", "max_worker_processes": "16", "work_mem": "4MB"},
		"max_connections setting:    100\nmax_worker_processes setting:   8\nfloat8 argument passing: by value\n")
	want := map[string]string{"max_connections": "100", "max_worker_processes": "16", "work_mem": "4MB"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, c := range []struct{ set, want string }{
		{"", "100"}, {"99", "100"}, {"0x63", "100"}, {"1.5", "100"}, {"junk", "100"},
		{"100", "100"}, {"0x100", "0x100"}, {" 0400 ", " 0400 "}, {"2.5e2", "2.5e2"},
	} {
		got := raise(map[string]string{"max_connections": c.set}, "max_connections setting:    100\n")["max_connections"]
		if got != c.want {
			t.Errorf("%q beside 100 is %q, want %q", c.set, got, c.want)
		}
	}
}
