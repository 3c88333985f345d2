package backup_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

// snapshotFile is a file that the database's own client saved an hour ago.
func snapshotFile(b *clitest.Bench, content string) string {
	b.T.Helper()
	path := filepath.Join(b.Dir, "snapshot.db")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		b.T.Fatal(err)
	}
	if err := os.Chtimes(path, clitest.Noon, clitest.Noon.Add(-time.Hour)); err != nil {
		b.T.Fatal(err)
	}
	return path
}

// imported counts the backups of the default repository.
func imported(b *clitest.Bench) int {
	b.T.Helper()
	found, err := filepath.Glob(filepath.Join(b.Dir, ".local/share/kubectl-dbop/backups/*.json"))
	if err != nil {
		b.T.Fatal(err)
	}
	return len(found)
}

func TestRestoreFile(t *testing.T) {
	b := clitest.New(t)
	file := snapshotFile(b, "snapshot 3.5.0")
	b.Golden("restore_file_plan", b.Run("plan", "restore", "my-db", "--from-file", file))
	b.Golden("restore_file_dry", b.Run("restore", "my-db", "--from-file", file, "--dry-run=server"))
	if _, err := os.Stat(filepath.Join(b.Dir, ".local")); err == nil || len(b.Writes) > 0 {
		t.Errorf("a plan or a dry run made a repository, or wrote %v", b.Writes)
	}
	b.Golden("restore_file", b.Run("restore", "my-db", "--from-file", file, "--progress", "none"))
	list := b.Run("backup", "list", "my-db", "-o", "name")
	id := strings.TrimSpace(strings.TrimPrefix(list.Out, "backup/"))
	b.Golden("restore_file_describe", b.Run("backup", "describe", id))
	// 3.5.0 is not in the catalog: its minor's newest takes its place.
	if r := b.Run("list"); !strings.Contains(r.Out, "3.5.9") {
		t.Errorf("restored as\n%s", r.Out)
	}
	b.Golden("restore_file_again",
		b.Run("restore", "copy", "--from-file", snapshotFile(b, "snapshot 3.5.0"), "--progress", "none"))
	if n := imported(b); n != 1 {
		t.Errorf("%d backups of one file", n)
	}
}

// TestRestoreFileWithoutVersion: older databases do not write it down.
func TestRestoreFileWithoutVersion(t *testing.T) {
	b := clitest.New(t)
	file := snapshotFile(b, "snapshot")
	b.Golden("restore_file_version", b.Run("restore", "my-db", "--from-file", file))
	if imported(b) > 0 || len(b.Writes) > 0 {
		t.Errorf("it imported, or wrote %v", b.Writes)
	}
	b.Must("restore", "my-db", "--from-file", file, "--version", "3.5", "--progress", "none")
	if r := b.Run("list"); !strings.Contains(r.Out, "3.5.9") || imported(b) != 1 {
		t.Errorf("restored as\n%s", r.Out)
	}
}

func TestRestoreFileRefuses(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("taken")
	whole := snapshotFile(b, "snapshot 3.5.0")
	broken := filepath.Join(b.Dir, "broken.db")
	if err := os.WriteFile(broken, []byte("no such thing"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.Golden("restore_file_damaged", b.Run("restore", "my-db", "--from-file", broken))
	for name, c := range map[string]struct {
		args []string
		code int
	}{
		"damaged plan":  {[]string{"plan", "restore", "my-db", "--from-file", broken}, exit.Refused},
		"no such file":  {[]string{"restore", "my-db", "--from-file", filepath.Join(b.Dir, "none.db")}, exit.Failed},
		"name is taken": {[]string{"restore", "taken", "--from-file", whole}, exit.Refused},
		"older version": {[]string{"restore", "my-db", "--from-file", whole, "--version", "3.4", "--image", "fakedb:3.4"},
			exit.Refused},
		"both": {[]string{"restore", "my-db", "--from-file", whole, "--from", "my-db-20261120T120000Z-0a1b"},
			exit.Usage},
		"neither":          {[]string{"restore", "my-db"}, exit.Usage},
		"over a cluster":   {[]string{"restore", "taken", "--in-place", "--from-file", whole}, exit.Usage},
		"unknown version":  {[]string{"restore", "my-db", "--from-file", whole, "--version", "9"}, exit.Usage},
		"wrong repository": {[]string{"restore", "my-db", "--from-file", whole, "--repository", "s3://x"}, exit.Usage},
	} {
		r := b.Run(c.args...)
		if r.Code != c.code || imported(b) > 0 || len(b.Writes) > 0 {
			t.Errorf("%s: exit %d, wrote %v\n%s", name, r.Code, b.Writes, r.Err)
		}
	}
}
