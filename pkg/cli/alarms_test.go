package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// raise lets a member of my-db be full, and somebody who is gone be damaged.
func (b *bench) raise() {
	b.world.raised = []engine.Alarm{
		{Name: "FULL", Cause: engine.CauseSpace, Member: "my-db-2", MemberID: "predicted-my-db-2"},
		{Name: "TORN", Cause: engine.CauseDamage, MemberID: "ff"},
	}
}

func TestAlarmsList(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	b.golden("alarms_none", b.run("alarms", "list"))
	b.raise()
	b.golden("alarms_list", b.run("alarms", "list", "my-db"))
	r := b.run("alarms", "list", "my-db", "-o", "json")
	var sheet alarmSheet
	if err := json.Unmarshal([]byte(r.out), &sheet); err != nil || r.code != ExitDegraded || len(sheet.Alarms) != 2 || len(sheet.Members) != 3 || strings.Contains(r.err, "next:") {
		t.Errorf("exit %d, %v\n%s%s", r.code, err, r.out, r.err)
	}
	if len(b.writes) > 0 {
		t.Errorf("wrote %v", b.writes)
	}
}

func TestAlarmsClear(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	if r := b.run("alarms", "clear", "my-db"); r.code != ExitDone || !strings.Contains(r.out, "fakedb/my-db unchanged") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if r := b.run("alarms", "clear", "my-db", "--keep-revisions", "-1"); r.code != ExitUsage {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	b.raise()
	b.golden("plan_alarms_clear", b.run("plan", "alarms", "clear", "my-db"))
}
