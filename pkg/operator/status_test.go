package operator

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

func custom() *v1alpha1.DatabaseCluster {
	c := &v1alpha1.DatabaseCluster{Spec: v1alpha1.DatabaseClusterSpec{Engine: "stub", Version: "1.1.0", Members: 2}}
	c.Name, c.Namespace, c.Generation = "db", "shop", 7
	return c
}

// seen is an observation of two members.
func seen(level health.Level) *sheet {
	return &sheet{verdict: health.Verdict{Level: level, Database: level, Headline: "so it is"}, healthy: 2,
		state: &ops.State{Cluster: custom(), View: engine.View{
			MemberList: []engine.Registered{{Name: "db-1", Voter: true}, {Name: "db-2", Voter: true}},
			Members: []engine.Member{{Name: "db-1", Version: "1.1.0", Role: engine.RoleLeader, Reachable: true,
				Serving: true},
				{Name: "db-2", Version: "1.1.0", Role: engine.RoleFollower, Reachable: true, Serving: true}}}}}
}

// TestBackupCondition: backups that are missing change a condition of their own,
// and nothing that is said of the database.
func TestBackupCondition(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 5, 12, 0, 0, 0, time.UTC)
	c, s := custom(), seen(health.Healthy)
	policy := v1alpha1.BackupPolicy{Repository: "pvc:backups", Schedule: "0 2 * * *"}
	s.state.Now, s.state.Cluster.Spec.Backup = now, policy
	s.state.Kube.Schedule = &workload.Schedule{Policy: policy, Since: now.Add(-time.Hour)}
	is := func(want string) {
		t.Helper()
		s.fill(c)
		got := ""
		if b := meta.FindStatusCondition(c.Status.Conditions, conditionBackup); b != nil {
			got = string(b.Status) + " " + b.Reason
			if b.ObservedGeneration != 7 || (b.Message == "") != (b.Status == "True") {
				t.Errorf("%+v", b)
			}
		}
		if got != want || !meta.IsStatusConditionTrue(c.Status.Conditions, conditionReady) ||
			meta.IsStatusConditionTrue(c.Status.Conditions, conditionStalled) {
			t.Errorf("%q, want %q: %+v", got, want, c.Status.Conditions)
		}
	}
	is("True UpToDate")
	s.state.Kube.Schedule.Since = now.Add(-72 * time.Hour)
	is("False Overdue")
	s.state.Kube.Schedule = nil // nobody could observe
	is("False Overdue")
	s.state.Cluster.Spec.Backup = v1alpha1.BackupPolicy{}
	is("")
}

// TestDriftedCondition: members that another version rendered change a condition
// of their own, which goes with them; the database is as ready as before.
func TestDriftedCondition(t *testing.T) {
	t.Parallel()
	c, s := custom(), seen(health.Healthy)
	workload := observe.Workload{Exists: true, Version: "1.1.0", Rendering: "old"}
	s.state.Kube.Members = []observe.Member{{Name: "db-1", Workload: workload}, {Name: "db-2", Workload: workload}}
	is := func(want string) {
		t.Helper()
		s.fill(c)
		got := ""
		if d := meta.FindStatusCondition(c.Status.Conditions, conditionDrifted); d != nil {
			got = string(d.Status) + " " + d.Reason + ": " + d.Message
		}
		if got != want || !meta.IsStatusConditionTrue(c.Status.Conditions, conditionReady) {
			t.Errorf("%q, want %q: %+v", got, want, c.Status.Conditions)
		}
	}
	is("")
	s.state.Rendering = "new"
	is("True RenderedOtherwise: db-1, db-2: not as this version renders them; kubectl dbop -n shop restart db changes " +
		"that")
	s.state.Kube.Members[0].Workload.Rendering = "new"
	is("True RenderedOtherwise: db-2: not as this version renders them; kubectl dbop -n shop restart db changes that")
	s.state.Kube.Members[1].Workload.Rendering = "new"
	is("")
}

func TestConditions(t *testing.T) {
	t.Parallel()
	running := &v1alpha1.Operation{Spec: v1alpha1.OperationSpec{Verb: v1alpha1.VerbScale},
		Status: v1alpha1.OperationStatus{Phase: v1alpha1.PhaseRunning}}
	refusal := &engine.Refusal{Check: "skipped-minor", Reason: "too far", Hint: "go step by step"}
	for _, row := range []struct {
		name                        string
		sheet                       func() *sheet
		summary                     string
		ready, reconciling, stalled string
	}{
		{"well", func() *sheet { return seen(health.Healthy) }, "healthy", "True Healthy", "False Settled",
			"False NotStalled"},
		{"degraded", func() *sheet { return seen(health.Degraded) }, "degraded", "False Degraded", "False Settled",
			"False NotStalled"},
		{"down", func() *sheet { return seen(health.Down) }, "down", "False Down", "False Settled", "False NotStalled"},
		{"at work", func() *sheet { s := seen(health.Healthy); s.state.Operation = running; return s }, "scale",
			"Unknown NotAsWanted", "True Operation", "False NotStalled"},
		{"somebody else at work", func() *sheet { s := seen(health.Healthy); s.busy(errors.New("held by me")); return s },
			"busy", "Unknown NotAsWanted", "True Busy", "False NotStalled"},
		{"well, and can't become as wanted", func() *sheet { s := seen(health.Healthy); s.stalled = refusal; return s },
			"stalled", "Unknown NotAsWanted", "False Settled", "True SkippedMinor"},
		{"never seen, and can't be", func() *sheet { return &sheet{stalled: refusal} }, "stalled", "Unknown NotSeen",
			"False Settled", "True SkippedMinor"},
		{"not made, for it is paused", func() *sheet { return &sheet{paused: true} }, "paused", "False Paused",
			"False Settled", "False NotStalled"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := custom()
			row.sheet().fill(c)
			for kind, want := range map[string]string{conditionReady: row.ready, conditionReconciling: row.reconciling,
				conditionStalled: row.stalled} {
				got := meta.FindStatusCondition(c.Status.Conditions, kind)
				if got == nil || string(got.Status)+" "+got.Reason != want || got.ObservedGeneration != 7 {
					t.Errorf("%s is %+v, want %s", kind, got, want)
				}
			}
			if c.Status.Summary != row.summary || c.Status.ObservedGeneration != 7 {
				t.Errorf("summary %q, generation %d", c.Status.Summary, c.Status.ObservedGeneration)
			}
		})
	}
}

// TestStatusIsStable: what did not change is not written, however often it is observed.
func TestStatusIsStable(t *testing.T) {
	t.Parallel()
	c := custom()
	seen(health.Healthy).fill(c)
	again := c.DeepCopy()
	time.Sleep(time.Millisecond)
	seen(health.Healthy).fill(again)
	if !equality.Semantic.DeepEqual(c.Status, again.Status) {
		t.Errorf("%+v\n%+v", c.Status, again.Status)
	}
	if c.Status.Ready != "2/2" || c.Status.Leader != "db-1" || c.Status.Version != "1.1.0" || c.Status.Members != 2 {
		t.Errorf("%+v", c.Status)
	}
	(&sheet{stalled: errors.New("no")}).fill(again)
	if again.Status.Leader != "db-1" || again.Status.Ready != "2/2" {
		t.Errorf("what was not observed was forgotten: %+v", again.Status)
	}
}

func TestTold(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		err          error
		reason, text string
	}{
		{&ops.Error{Kind: ops.NeedsHuman, Check: "healing-budget", Message: "too many", Hint: "see"}, "HealingBudget",
			"too many; see"},
		{&engine.Refusal{Check: "storage.className", Reason: "no", Hint: "put it back"}, "StorageClassName",
			"no; put it back"},
		{errors.New("plain"), "Failed", "plain"},
		{&ops.Error{Kind: ops.Refused, Message: "no", Hint: "kubectl dbop status db"}, "Refused",
			"no; kubectl dbop -n shop status db"},
		{errors.Join(&engine.Refusal{Check: "tls", Reason: "no", Hint: "put it back"}), "Tls", "no; put it back"},
	} {
		if r, s := reasonOf(row.err), told("shop", row.err); r != row.reason || s != row.text {
			t.Errorf("%v: %q, %q", row.err, r, s)
		}
	}
}

// TestSaidHasNoControlCharacters: conditions and events are printed by kubectl describe as they are.
func TestSaidHasNoControlCharacters(t *testing.T) {
	t.Parallel()
	if got := said("shop", "member \x1b[2Ja\r is unknown"); got != "member ?[2Ja? is unknown" {
		t.Errorf("%q", got)
	}
}
