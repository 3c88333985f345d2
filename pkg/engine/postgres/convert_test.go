package postgres

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// TestMajorVersions: a restore and an upgrade bring data to a later major version, and never back. An upgrade asks for
// healthy members.
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
		view := engine.View{Quorum: true, Members: []engine.Member{{Name: "a", ID: "a", Version: c.from, Reachable: true,
			Serving: true, Role: engine.RoleLeader, Leader: "a"}},
			MemberList: []engine.Registered{{Name: "a", ID: "a", Voter: true, Started: true}}}
		if err := e.CheckUpgrade(view, v1alpha1.DatabaseClusterSpec{}, c.to); (err != nil) != c.refused {
			t.Errorf("an upgrade of %s to %s: %v", c.from, c.to, err)
		}
		view.Members[0].Reachable = false
		if e.CheckUpgrade(view, v1alpha1.DatabaseClusterSpec{}, c.to) == nil {
			t.Errorf("an upgrade of %s to %s begins although the member is down", c.from, c.to)
		}
	}
}
