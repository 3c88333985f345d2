package backup_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
)

func TestBackupSchedule(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	set := []string{"backup", "schedule", "my-db", "0 2 * * *", "--keep", "7", "--repository", "pvc:backups",
		"--time-zone", "Europe/Berlin", "--progress", "none"}
	if r := b.Run("backup", "schedule", "my-db"); r.Code != exit.Done ||
		!strings.Contains(r.Err, "my-db has no schedule of backups") {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	if r := b.Run(set...); r.Code != exit.Done || r.Out != "fakedb/my-db backed up by schedule\n" {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	if r := b.Run(set...); r.Code != exit.Done || r.Out != "fakedb/my-db unchanged\n" {
		t.Errorf("a repeat: exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	b.Golden("backup_schedule", b.Run("backup", "schedule", "my-db"))
	if r := b.Run("backup", "schedule", "my-db", "--remove", "--progress", "none"); r.Code != exit.Done ||
		r.Out != "fakedb/my-db not backed up by schedule any more\n" {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	if r := b.Run("undo", "my-db", "--yes", "--progress", "none"); r.Code != exit.Done {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	if r := b.Run("backup", "schedule", "my-db"); !strings.Contains(r.Out, "0 2 * * *") {
		t.Errorf("it did not come back:\n%s%s", r.Out, r.Err)
	}
}

func TestBackupScheduleRefuses(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	for want, args := range map[string][]string{
		"--remove goes alone":   {"my-db", "0 2 * * *", "--remove"},
		"a SCHEDULE is missing": {"my-db", "--keep", "7"},
		"can't be kept":         {"my-db", "0 2 * * *", "--keep=-1"},
		"is no schedule":        {"my-db", "each night", "--repository", "pvc:backups"},
		"is no place there":     {"my-db", "0 2 * * *", "--repository", "dir:/backups"},
		"no incremental":        {"my-db", "0 2 * * *", "--repository", "pvc:backups", "--full", "weekly"},
		"there is no time zone": {"my-db", "0 2 * * *", "--repository", "pvc:backups", "--time-zone", "Atlantis"},
		"my-other-db not found": {"my-other-db", "0 2 * * *"},
		"needs NAME":            {},
	} {
		b.Writes = nil
		r := b.Run(append([]string{"backup", "schedule", "--progress", "none"}, args...)...)
		if r.Code == exit.Done || slices.ContainsFunc(b.Writes, func(w string) bool { return w != "take the lease" }) ||
			want != "needs NAME" && !strings.Contains(r.Err, want) {
			t.Errorf("%v: exit %d, wrote %v\n%s", args, r.Code, b.Writes, r.Err)
		}
	}
}

func TestBackupWaitsItsTurn(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	b.LockErr = &lease.HeldError{Cluster: "my-db", Holder: "bob@laptop"}
	began := time.Now()
	r := b.Run("backup", "my-db", "--scheduled", "--keep", "3", "--wait-for-lease", "300ms", "--progress", "none")
	if r.Code != exit.Busy || !strings.Contains(r.Err, "waiting: ") || time.Since(began) < 300*time.Millisecond {
		t.Errorf("exit %d after %s\n%s", r.Code, time.Since(began), r.Err)
	}
	if r := b.Run("backup", "my-db", "--full-every", "weekly"); r.Code != exit.Usage ||
		!strings.Contains(r.Err, "--scheduled") {
		t.Errorf("exit %d\n%s", r.Code, r.Err)
	}
	if r := b.Run("backup", "my-db", "--keep", "3"); r.Code != exit.Usage || !strings.Contains(r.Err, "--scheduled") {
		t.Errorf("exit %d\n%s", r.Code, r.Err)
	}
}
