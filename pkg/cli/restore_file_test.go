package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// snapshotFile is a file that the database's own client saved an hour ago.
func (b *bench) snapshotFile(content string) string {
	b.t.Helper()
	path := filepath.Join(b.dir, "snapshot.db")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		b.t.Fatal(err)
	}
	if err := os.Chtimes(path, noon, noon.Add(-time.Hour)); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// imported counts the backups of the default repository.
func (b *bench) imported() int {
	b.t.Helper()
	found, err := filepath.Glob(filepath.Join(b.dir, ".local/share/kubectl-dbop/backups/*.json"))
	if err != nil {
		b.t.Fatal(err)
	}
	return len(found)
}

func TestRestoreFile(t *testing.T) {
	b := newBench(t)
	file := b.snapshotFile("snapshot 3.5.0")
	b.golden("restore_file_plan", b.run("plan", "restore", "my-db", "--from-file", file))
	b.golden("restore_file_dry", b.run("restore", "my-db", "--from-file", file, "--dry-run=server"))
	if _, err := os.Stat(filepath.Join(b.dir, ".local")); err == nil || len(b.writes) > 0 {
		t.Errorf("a plan or a dry run made a repository, or wrote %v", b.writes)
	}
	b.golden("restore_file", b.run("restore", "my-db", "--from-file", file, "--progress", "none"))
	list := b.run("backup", "list", "my-db", "-o", "name")
	id := strings.TrimSpace(strings.TrimPrefix(list.out, "backup/"))
	b.golden("restore_file_describe", b.run("backup", "describe", id))
	// 3.5.0 is not in the catalog: its minor's newest takes its place.
	if r := b.run("list"); !strings.Contains(r.out, "3.5.9") {
		t.Errorf("restored as\n%s", r.out)
	}
	b.golden("restore_file_again", b.run("restore", "copy", "--from-file", b.snapshotFile("snapshot 3.5.0"), "--progress", "none"))
	if n := b.imported(); n != 1 {
		t.Errorf("%d backups of one file", n)
	}
}

// TestRestoreFileWithoutVersion: older databases do not write it down.
func TestRestoreFileWithoutVersion(t *testing.T) {
	b := newBench(t)
	file := b.snapshotFile("snapshot")
	b.golden("restore_file_version", b.run("restore", "my-db", "--from-file", file))
	if b.imported() > 0 || len(b.writes) > 0 {
		t.Errorf("it imported, or wrote %v", b.writes)
	}
	b.must("restore", "my-db", "--from-file", file, "--version", "3.5", "--progress", "none")
	if r := b.run("list"); !strings.Contains(r.out, "3.5.9") || b.imported() != 1 {
		t.Errorf("restored as\n%s", r.out)
	}
}

func TestRestoreFileRefuses(t *testing.T) {
	b := newBench(t)
	b.cluster("taken")
	whole := b.snapshotFile("snapshot 3.5.0")
	broken := filepath.Join(b.dir, "broken.db")
	if err := os.WriteFile(broken, []byte("no such thing"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.golden("restore_file_damaged", b.run("restore", "my-db", "--from-file", broken))
	for name, c := range map[string]struct {
		args []string
		code int
	}{
		"damaged plan":     {[]string{"plan", "restore", "my-db", "--from-file", broken}, ExitRefused},
		"no such file":     {[]string{"restore", "my-db", "--from-file", filepath.Join(b.dir, "none.db")}, ExitFailed},
		"name is taken":    {[]string{"restore", "taken", "--from-file", whole}, ExitRefused},
		"older version":    {[]string{"restore", "my-db", "--from-file", whole, "--version", "3.4", "--image", "fakedb:3.4"}, ExitRefused},
		"both":             {[]string{"restore", "my-db", "--from-file", whole, "--from", "my-db-20261120T120000Z-0a1b"}, ExitUsage},
		"neither":          {[]string{"restore", "my-db"}, ExitUsage},
		"over a cluster":   {[]string{"restore", "taken", "--in-place", "--from-file", whole}, ExitUsage},
		"unknown version":  {[]string{"restore", "my-db", "--from-file", whole, "--version", "9"}, ExitUsage},
		"wrong repository": {[]string{"restore", "my-db", "--from-file", whole, "--repository", "s3://x"}, ExitUsage},
	} {
		r := b.run(c.args...)
		if r.code != c.code || b.imported() > 0 || len(b.writes) > 0 {
			t.Errorf("%s: exit %d, wrote %v\n%s", name, r.code, b.writes, r.err)
		}
	}
}
