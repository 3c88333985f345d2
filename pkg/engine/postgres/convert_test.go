package postgres

import (
	"errors"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// TestMajorVersions: a restore brings data to a later major version, and never back; an upgrade names the restore.
func TestMajorVersions(t *testing.T) {
	t.Parallel()
	e := New()
	for _, c := range []struct {
		from, to           string
		converted, refused bool
	}{
		{"15.20", "17.12", true, false},
		{"15.20", "18.6", true, false},
		{"17.12", "18.6", true, false},
		{"15.18", "15.20", false, false},
		{"17.12", "15.20", false, true},
		{"14.9", "17.12", false, true},
		{"15.20", "seventeen", false, true},
	} {
		if got := engine.Converts(e, c.from, c.to); got != c.converted {
			t.Errorf("data of %s is converted for %s: %t", c.from, c.to, got)
		}
		if err := e.CheckRestore(c.from, c.to); (err != nil) != c.refused {
			t.Errorf("a restore of %s into %s: %v", c.from, c.to, err)
		}
		view := engine.View{Members: []engine.Member{{Name: "a", Version: c.from}}}
		var refusal *engine.Refusal
		err := e.CheckUpgrade(view, v1alpha1.DatabaseClusterSpec{}, c.to)
		if named := errors.As(err, &refusal) && strings.Contains(refusal.Hint, "--version "+c.to); named != c.converted {
			t.Errorf("an upgrade of %s to %s: %v", c.from, c.to, err)
		}
	}
}
