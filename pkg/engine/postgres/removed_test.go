package postgres

import (
	"errors"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// TestRemovedSettings: an upgrade to a major version that does not know a setting is refused before it begins.
func TestRemovedSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to, setting string
		refused           bool
	}{
		{"15.20", "17.12", "old_snapshot_threshold", true},
		{"15.20", "18.6", "old_snapshot_threshold", true},
		{"15.18", "15.20", "old_snapshot_threshold", false},
		{"15.20", "17.12", "work_mem", false},
		{"17.12", "18.6", "extension_destdir", true},
		{"15.20", "17.12", "extension_destdir", false},
	} {
		view := engine.View{Quorum: true, Members: []engine.Member{{Name: "db-1", ID: "db-1", Version: c.from,
			Reachable: true, Serving: true, Role: engine.RoleLeader, Leader: "db-1"}},
			MemberList: []engine.Registered{{Name: "db-1", ID: "db-1", Voter: true, Started: true}}}
		spec := v1alpha1.DatabaseClusterSpec{Config: map[string]string{c.setting: "1"}}
		err := New().CheckUpgrade(view, spec, c.to)
		refusal, _ := errors.AsType[*engine.Refusal](err)
		if (err != nil) != c.refused ||
			c.refused && (refusal == nil || !strings.Contains(refusal.Hint, "configure db --unset "+c.setting)) {
			t.Errorf("%s from %s to %s: %v", c.setting, c.from, c.to, err)
		}
	}
}
