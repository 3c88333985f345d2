package operation_test

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

func TestUndo(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	if r := b.Run("undo", "my-db", "--yes"); r.Code != exit.Refused ||
		!strings.Contains(r.Err, "hint: kubectl dbop -n shop history my-db") {
		t.Errorf("a creation: exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	b.Must("scale", "my-db", "--members", "5", "--progress", "none")
	b.Golden("plan_undo", b.Run("plan", "undo", "my-db"))
	b.Golden("undo_dry", b.Run("undo", "my-db", "--dry-run"))
	if r := b.Run("undo", "my-db"); r.Code != exit.Usage || !strings.Contains(r.Err, "repeat with --yes") {
		t.Errorf("nobody to ask: exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	if len(b.Writes) > 0 {
		t.Errorf("wrote %v", b.Writes)
	}
	b.In, b.Tty = strings.NewReader("y\n"), true
	b.Golden("undo", b.Run("undo", "my-db", "--progress", "none"))
	b.Tty = false
	if r := b.Run("undo", "my-db", "--yes"); r.Code != exit.Refused || !strings.Contains(r.Err, "already") {
		t.Errorf("twice: exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	if r := b.Run("history", "my-db", "-o", "json"); strings.Count(r.Out, `"undoes": "my-db.dbop-op-`) != 1 {
		t.Errorf("the record does not say what it takes back:\n%s", r.Out)
	}
	b.Must("backup", "my-db", "--progress", "none")
	b.Must("pause", "my-db")
	if r := b.Run("undo", "my-db"); r.Code != exit.Done || !strings.Contains(r.Out, "fakedb/my-db resumed") {
		t.Errorf("a pause: exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
}

// TestUndoOfAnUpgrade goes down by the way that the engine has, with a backup.
func TestUndoOfAnUpgrade(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	b.Must("upgrade", "my-db", "--version", "3.6", "--progress", "none")
	r := b.Run("undo", "my-db", "--yes", "--progress", "none")
	if r.Code != exit.Done || !strings.Contains(r.Out, "upgrade taken back") {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	if s := b.Run("list"); !strings.Contains(s.Out, "3.5.9") {
		t.Errorf("not the former version:\n%s", s.Out)
	}
	if !strings.Contains(strings.Join(b.Writes, " "), "verify-backup") {
		t.Errorf("no backup: %v", b.Writes)
	}
}
