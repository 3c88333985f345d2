//go:build e2e

package etcd

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// TestCancelRestoreInPlace kills an in-place restore at several points and
// steps back, with the way back killed at each of its steps too: everything
// that was written before the restore is there. A restore that ended is taken back
// by undo, which is killed likewise.
func TestCancelRestoreInPlace(t *testing.T) {
	s := newScene(t, "return", "my-db")
	s.create("my-db", "3.6", "3")
	s.ok(harness.FillKeys(s.ctx, s.dial("my-db"), "kept/", 500, 64))
	id := s.someBackup()
	s.ok(harness.FillKeys(s.ctx, s.dial("my-db"), "later/", 100, 64))
	for _, point := range []string{"after:begin-incarnation", "within:load-backup", "after:record-bootstrap"} {
		r := s.with(s.mortal(point), "restore", "my-db", "--in-place", "--from", id, "--skip-backup", "--yes")
		if torture.DiedAt(r) != point {
			t.Fatalf("it did not die at %s:\n%s", point, r)
		}
		for _, back := range []string{"before:return-to-incarnation", "after:return-to-incarnation",
			"after:start-members"} {
			if r := s.with(s.mortal(back), "cancel", "my-db"); torture.DiedAt(r) != back {
				t.Fatalf("killed at %s, the way back does not come to %s:\n%s", point, back, r)
			}
		}
		s.must("cancel", "my-db")
		s.healthy("my-db", 3)
		s.holdsBackup("my-db")
		later, err := harness.ReadAll(s.ctx, s.dial("my-db"), "later/")
		s.ok(err)
		if len(later) != 100 {
			t.Errorf("killed at %s: %d of 100 keys from after the backup are there", point, len(later))
		}
	}
	s.must("restore", "my-db", "--in-place", "--from", id, "--skip-backup", "--yes")
	s.healthy("my-db", 3)
	s.holdsBackup("my-db")
	for _, point := range []string{"before:return-to-incarnation", "after:return-to-incarnation", "after:start-members"} {
		if r := s.with(s.mortal(point), "undo", "my-db", "--yes"); torture.DiedAt(r) != point {
			t.Fatalf("the way back from a finished restore does not come to %s:\n%s", point, r)
		}
	}
	s.must("undo", "my-db", "--yes")
	s.healthy("my-db", 3)
	s.holdsBackup("my-db")
	later, err := harness.ReadAll(s.ctx, s.dial("my-db"), "later/")
	s.ok(err)
	if len(later) != 100 {
		t.Errorf("with the restore taken back, %d of 100 keys from after the backup are there", len(later))
	}
	s.refused(4, []string{"already"}, "undo", "my-db", "--yes")
	s.must("drop-volumes", "my-db", "--yes")
	s.settledVolumes("my-db", 3)
	s.healthy("my-db", 3)
}
