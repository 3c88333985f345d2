//go:build linux

package postgres

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAncestry: the agent of a primary tells the same as its server, to which an earlier agent leaves that.
func TestAncestry(t *testing.T) {
	t.Parallel()
	_, m1, m2 := pair(t)
	ask := func() facts {
		past, system, err := m2.ancestry(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return facts{system, past}
	}
	told := ask()
	m1.Downstream.Facts = nil
	if diff := cmp.Diff(ask(), told); diff != "" || told.Past.Timeline != 2 {
		t.Error(diff, told)
	}
}
