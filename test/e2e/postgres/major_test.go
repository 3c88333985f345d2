//go:build e2e

package postgres

import (
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// TestMajor restores a backup of version 15 into a new cluster of version 17, whose data is converted: first what 17
// can't take, which is named, then the rest, and with the archived log to a moment. The cluster that was backed up
// stays as it is.
func TestMajor(t *testing.T) {
	if !torture.Full() {
		t.Skip("make torture ENGINE=postgres runs it")
	}
	s := newScene(t, "major")
	if !s.site.HasObjectStore() {
		t.Skip("no image of an object store: run make stores cluster-up, or set DBOP_STORE_IMAGE")
	}
	s.offsite()
	before, after := s.releases(15)[0], s.releases(17)[0]
	s.create(before, "2", "--config", "archive-repository=offsite", "--config", "archive_timeout=5s")
	s.sql(rows)
	s.sql("CREATE TABLE odd (a aclitem)")
	restore := func(name, id string, more ...string) []string {
		return append([]string{"restore", name, "--from", id, "--repository", "offsite", "--version", after.Version,
			"--image", after.Image, "--former-image", before.Image, "--members", "2", "--storage", "1Gi"}, more...)
	}
	refused := s.backup("offsite")
	if r := s.try(restore("refused", refused)...); r.Code == 0 || !strings.Contains(r.Stderr, "public.odd.a") {
		t.Errorf("what version %s can't take is not named:\n%s", after.Version, r)
	}
	s.sql("DROP TABLE odd")
	want := s.sql(contents)
	id := s.backup("offsite")
	s.sql("INSERT INTO kept VALUES (0, 'later')")
	later := s.sql(contents)
	at := time.Now()
	time.Sleep(time.Second)
	s.sql("DROP TABLE kept")

	s.must(restore("copy", id)...)
	if got := s.sqlOf("copy", contents); got != want {
		t.Errorf("the copy holds %s, want %s", got, want)
	}
	if got := s.sqlOf("copy", "SHOW server_version"); !strings.HasPrefix(got, after.Version) {
		t.Errorf("the copy runs %s", got)
	}
	s.must("delete", "copy", "--skip-backup", "--purge", "--yes")
	s.onceArchived(func() harness.Result {
		return s.try(restore("moment", id, "--to-time", at.UTC().Format(time.RFC3339Nano))...)
	})
	if got := s.sqlOf("moment", contents); got != later {
		t.Errorf("the copy of a moment holds %s, want %s", got, later)
	}
	s.healthy(2)
}
