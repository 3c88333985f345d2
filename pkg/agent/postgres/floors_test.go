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
}

// TestLowered: a setting that recovery needs is refused below what the log was written with, and nothing else is.
func TestLowered(t *testing.T) {
	t.Parallel()
	least := map[string]string{"max_connections": "200", "max_worker_processes": "8"}
	high := map[string]string{"max_connections": "200"}
	for name, c := range map[string]struct {
		values, present map[string]string
		refused         bool
	}{
		"lowered":                        {map[string]string{"max_connections": "150"}, high, true},
		"back to the server's own value": {nil, high, true},
		"raised":                         {map[string]string{"max_connections": "300"}, high, false},
		"another setting":                {map[string]string{"max_connections": "200", "work_mem": "8MB"}, high, false},
		"another setting, restored from a server with more": {map[string]string{"work_mem": "8MB"}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := lowered(c.values, c.present, least); (err != nil) != c.refused {
				t.Errorf("got %v", err)
			}
		})
	}
}
