package engines_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// raise lets a member of my-db be full, and somebody who is gone be damaged.
func raise(b *clitest.Bench) {
	b.Cluster.Raised = []engine.Alarm{
		{Name: "FULL", Cause: engine.CauseSpace, Member: "my-db-2", MemberID: "predicted-my-db-2"},
		{Name: "TORN", Cause: engine.CauseDamage, MemberID: "ff"},
	}
}

func TestAlarmsList(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	b.Golden("alarms_none", b.Run("alarms", "list"))
	raise(b)
	b.Golden("alarms_list", b.Run("alarms", "list", "my-db"))
	r := b.Run("alarms", "list", "my-db", "-o", "json")
	var sheet struct{ Alarms, Members []any }
	if err := json.Unmarshal([]byte(r.Out), &sheet); err != nil || r.Code != exit.Degraded || len(sheet.Alarms) != 2 ||
		len(sheet.Members) != 3 || strings.Contains(r.Err, "next:") {
		t.Errorf("exit %d, %v\n%s%s", r.Code, err, r.Out, r.Err)
	}
	if len(b.Writes) > 0 {
		t.Errorf("wrote %v", b.Writes)
	}
}

func TestAlarmsClear(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	if r := b.Run("alarms", "clear", "my-db"); r.Code != exit.Done || !strings.Contains(r.Out, "fakedb/my-db unchanged") {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	if r := b.Run("alarms", "clear", "my-db", "--keep-revisions", "-1"); r.Code != exit.Usage {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	raise(b)
	b.Golden("plan_alarms_clear", b.Run("plan", "alarms", "clear", "my-db"))
}
