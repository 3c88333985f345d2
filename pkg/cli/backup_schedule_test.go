package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

func TestBackupSchedule(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	set := []string{"backup", "schedule", "my-db", "0 2 * * *", "--keep", "7", "--repository", "pvc:backups", "--time-zone", "Europe/Berlin", "--progress", "none"}
	if r := b.run("backup", "schedule", "my-db"); r.code != ExitDone || !strings.Contains(r.err, "my-db has no schedule of backups") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if r := b.run(set...); r.code != ExitDone || r.out != "fakedb/my-db backed up by schedule\n" {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if r := b.run(set...); r.code != ExitDone || r.out != "fakedb/my-db unchanged\n" {
		t.Errorf("a repeat: exit %d\n%s%s", r.code, r.out, r.err)
	}
	b.golden("backup_schedule", b.run("backup", "schedule", "my-db"))
	if r := b.run("backup", "schedule", "my-db", "--remove", "--progress", "none"); r.code != ExitDone || r.out != "fakedb/my-db not backed up by schedule any more\n" {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if r := b.run("undo", "my-db", "--yes", "--progress", "none"); r.code != ExitDone {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if r := b.run("backup", "schedule", "my-db"); !strings.Contains(r.out, "0 2 * * *") {
		t.Errorf("it did not come back:\n%s%s", r.out, r.err)
	}
}

func TestBackupScheduleRefuses(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	for want, args := range map[string][]string{
		"--remove goes alone":   {"my-db", "0 2 * * *", "--remove"},
		"a SCHEDULE is missing": {"my-db", "--keep", "7"},
		"can't be negative":     {"my-db", "0 2 * * *", "--keep", "-1"},
		"is no schedule":        {"my-db", "each night", "--repository", "pvc:backups"},
		"is no place there":     {"my-db", "0 2 * * *", "--repository", "dir:/backups"},
		"there is no time zone": {"my-db", "0 2 * * *", "--repository", "pvc:backups", "--time-zone", "Atlantis"},
		"my-other-db not found": {"my-other-db", "0 2 * * *"},
		"needs NAME":            {},
	} {
		b.writes = nil
		r := b.run(append([]string{"backup", "schedule", "--progress", "none"}, args...)...)
		if r.code == ExitDone || slices.ContainsFunc(b.writes, func(w string) bool { return w != "take the lease" }) || want != "needs NAME" && !strings.Contains(r.err, want) {
			t.Errorf("%v: exit %d, wrote %v\n%s", args, r.code, b.writes, r.err)
		}
	}
}

func TestBackupWaitsItsTurn(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	b.lockErr = &kube.HeldError{Cluster: "my-db", Holder: "bob@laptop"}
	began := time.Now()
	r := b.run("backup", "my-db", "--scheduled", "--keep", "3", "--wait-for-turn", "300ms", "--progress", "none")
	if r.code != ExitBusy || !strings.Contains(r.err, "waiting: ") || time.Since(began) < 300*time.Millisecond {
		t.Errorf("exit %d after %s\n%s", r.code, time.Since(began), r.err)
	}
	if r := b.run("backup", "my-db", "--keep", "3"); r.code != ExitUsage || !strings.Contains(r.err, "--scheduled") {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
}
