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
