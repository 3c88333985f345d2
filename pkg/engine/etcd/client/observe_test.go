package client

import (
	"slices"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// TestDowngradeIsTheLeadersWord: without one, or if it doesn't tell, nothing is known.
func TestDowngradeIsTheLeadersWord(t *testing.T) {
	t.Parallel()
	follower := report{member: engine.Member{Name: "db-2", Reachable: true, Serving: true, Role: engine.RoleFollower}}
	leads := func(to string, told bool) report {
		return report{member: engine.Member{Name: "db-1", Reachable: true, Serving: true, Role: engine.RoleLeader},
			downgrade: to, told: told}
	}
	for name, c := range map[string]struct {
		said    []report
		want    string
		unknown bool
	}{
		"none is under way": {said: []report{leads("", true), follower}},
		"one is":            {said: []report{follower, leads("3.5.0", true)}, want: "3.5.0"},
		"it keeps silent":   {said: []report{leads("", false), follower}, unknown: true},
		"nobody leads":      {said: []report{follower}, unknown: true},
	} {
		if v := viewFrom(c.said); v.Downgrade != c.want || v.DowngradeUnknown != c.unknown {
			t.Errorf("%s: %q, unknown %v", name, v.Downgrade, v.DowngradeUnknown)
		}
	}
}

func TestComplaints(t *testing.T) {
	t.Parallel()
	alarms, problem := complaints([]string{
		noLeader, "memberID:7 alarm:NOSPACE ", "memberID:7  alarm:CORRUPT", "memberID:8 alarm:NOSPACE", "disk on fire",
	}, "7")
	if !slices.Equal(alarms, []string{"NOSPACE", "CORRUPT"}) || problem != "disk on fire" {
		t.Errorf("alarms %q, problem %q", alarms, problem)
	}
}
