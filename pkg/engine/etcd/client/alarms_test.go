package client

import (
	"slices"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func TestAlarmsFrom(t *testing.T) {
	t.Parallel()
	alarms, rest := alarmsFrom([]string{noLeader, "memberID:255 alarm:NOSPACE ", "memberID:7  alarm:NEW",
		"alarm:CORRUPT ",
		"memberID:8 and more"})
	want := []engine.Alarm{{Name: "NOSPACE", Cause: engine.CauseSpace, MemberID: "ff"}, {Name: "NEW", MemberID: "7"},
		{Name: "CORRUPT", Cause: engine.CauseDamage}}
	if !slices.Equal(alarms, want) || !slices.Equal(rest, []string{"memberID:8 and more"}) {
		t.Errorf("alarms %+v, rest %q", alarms, rest)
	}
}

// TestNameAlarms: of a cluster with a member list only what is in it has a name.
func TestNameAlarms(t *testing.T) {
	t.Parallel()
	for quorum, want := range map[bool]string{true: "", false: "db-2"} {
		v := engine.View{Quorum: quorum, Members: []engine.Member{{Name: "db-1", ID: "1"}, {Name: "db-2", ID: "2"}},
			Alarms: gather([]engine.Alarm{{Name: "B", MemberID: "2"}},
				[]engine.Alarm{{Name: "B", MemberID: "2"}, {Name: "A", MemberID: "1"}})}
		if quorum {
			v.MemberList = []engine.Registered{{Name: "db-1", ID: "1"}}
		}
		nameAlarms(v)
		if !slices.Equal(v.Alarms, []engine.Alarm{{Name: "A", MemberID: "1", Member: "db-1"},
			{Name: "B", MemberID: "2", Member: want}}) {
			t.Errorf("quorum %t: %+v", quorum, v.Alarms)
		}
	}
}
