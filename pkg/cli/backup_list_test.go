package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const spoiled = "my-db-20261121T120000Z-ffff"

// spoil puts a backup with a damaged manifest into the default repository.
func (b *bench) spoil() {
	b.t.Helper()
	dir := filepath.Join(b.dir, ".local/share/kubectl-dbop/backups")
	for name, content := range map[string]string{spoiled + ".json": "{", spoiled + ".snapshot": "data"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
}

// TestBackupListShowsTheDamaged beside the good ones, for people and for machines.
func TestBackupListShowsTheDamaged(t *testing.T) {
	b := newBench(t)
	good := b.backup("my-db")
	b.spoil()
	b.golden("backup-list-damaged", b.run("backup", "list", "my-db"))
	r := b.run("backup", "list", "-o", "json")
	var got struct {
		Items   []struct{ ID, Repository string }
		Damaged []struct{ ID, Repository, Reason string }
	}
	if err := json.Unmarshal([]byte(r.out), &got); err != nil || r.code != ExitDone {
		t.Fatalf("exit %d, %v\n%s%s", r.code, err, r.out, r.err)
	}
	if len(got.Items) != 1 || got.Items[0].ID != good || got.Items[0].Repository == "" ||
		len(got.Damaged) != 1 || got.Damaged[0].ID != spoiled || got.Damaged[0].Reason == "" || got.Damaged[0].Repository != got.Items[0].Repository {
		t.Errorf("got %+v", got)
	}
	if r := b.run("backup", "list", "-o", "name"); r.out != "backup/"+good+"\nbackup/"+spoiled+"\n" {
		t.Errorf("names:\n%s", r.out)
	}
}

// TestBackupDeleteOfADamagedOne works, as the hints say.
func TestBackupDeleteOfADamagedOne(t *testing.T) {
	b := newBench(t)
	good := b.backup("my-db")
	b.spoil()
	if r := b.run("backup", "describe", spoiled); r.code != ExitFailed || !strings.Contains(r.err, "backup delete "+spoiled+" --repository dir:") {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	if r := b.run("backup", "delete", spoiled, "--yes"); r.code != ExitDone || r.out != "backup/"+spoiled+" deleted\n" {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if r := b.run("backup", "list", "-o", "name"); r.out != "backup/"+good+"\n" {
		t.Errorf("left:\n%s", r.out)
	}
	if left, _ := filepath.Glob(filepath.Join(b.dir, ".local/share/kubectl-dbop/backups", spoiled+"*")); len(left) > 0 {
		t.Errorf("remains: %v", left)
	}
}

// TestBackupListWithoutAName lists what each cluster's own list shows.
func TestBackupListWithoutAName(t *testing.T) {
	b := newBench(t)
	elsewhere := filepath.Join(b.dir, "elsewhere")
	b.must("create", "my-db", "--engine", "fakedb", "--version", "3.5", "--progress", "none", "--repository", "dir:"+elsewhere)
	id := b.backup("my-db")
	if err := os.Rename(filepath.Join(b.dir, ".local/share/kubectl-dbop/backups"), elsewhere); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"backup", "list", "my-db"}, {"backup", "list"}} {
		if r := b.run(append(args, "-o", "name")...); r.code != ExitDone || r.out != "backup/"+id+"\n" || !strings.Contains(r.err, "Repository: dir:"+elsewhere) {
			t.Errorf("%v: exit %d\n%s%s", args, r.code, r.out, r.err)
		}
	}
	other := b.backup("other")
	if r := b.run("backup", "list"); r.code != ExitDone || !strings.Contains(r.out, id) || !strings.Contains(r.out, other) || !strings.Contains(r.out, "REPOSITORY") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
}
