package cli

import (
	"strings"
	"testing"
)

func TestUndo(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	if r := b.run("undo", "my-db", "--yes"); r.code != ExitRefused || !strings.Contains(r.err, "hint: kubectl dbop -n shop history my-db") {
		t.Errorf("a creation: exit %d\n%s%s", r.code, r.out, r.err)
	}
	b.must("scale", "my-db", "--members", "5", "--progress", "none")
	b.golden("plan_undo", b.run("plan", "undo", "my-db"))
	b.golden("undo_dry", b.run("undo", "my-db", "--dry-run"))
	if r := b.run("undo", "my-db"); r.code != ExitUsage || !strings.Contains(r.err, "repeat with --yes") {
		t.Errorf("nobody to ask: exit %d\n%s%s", r.code, r.out, r.err)
	}
	if len(b.writes) > 0 {
		t.Errorf("wrote %v", b.writes)
	}
	b.in, b.tty = strings.NewReader("y\n"), true
	b.golden("undo", b.run("undo", "my-db", "--progress", "none"))
	b.tty = false
	if r := b.run("undo", "my-db", "--yes"); r.code != ExitRefused || !strings.Contains(r.err, "already") {
		t.Errorf("twice: exit %d\n%s%s", r.code, r.out, r.err)
	}
	if r := b.run("history", "my-db", "-o", "json"); strings.Count(r.out, `"undoes": "my-db.dbop-op-`) != 1 {
		t.Errorf("the record does not say what it takes back:\n%s", r.out)
	}
	b.must("backup", "my-db", "--progress", "none")
	b.must("pause", "my-db")
	if r := b.run("undo", "my-db"); r.code != ExitDone || !strings.Contains(r.out, "fakedb/my-db resumed") {
		t.Errorf("a pause: exit %d\n%s%s", r.code, r.out, r.err)
	}
}

// TestUndoOfAnUpgrade goes down by the way that the engine has, with a backup.
func TestUndoOfAnUpgrade(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	b.must("upgrade", "my-db", "--version", "3.6", "--progress", "none")
	r := b.run("undo", "my-db", "--yes", "--progress", "none")
	if r.code != ExitDone || !strings.Contains(r.out, "upgrade taken back") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if s := b.run("list"); !strings.Contains(s.out, "3.5.9") {
		t.Errorf("not the former version:\n%s", s.out)
	}
	if !strings.Contains(strings.Join(b.writes, " "), "verify-backup") {
		t.Errorf("no backup: %v", b.writes)
	}
}
