//go:build e2e

package postgres

import (
	"os"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// TestIncremental takes what changed since a full backup, proves it in a throw-away member, and brings it back into a
// new cluster and in place of the old one. What it adds to stays as long as it does.
func TestIncremental(t *testing.T) {
	if !torture.Full() {
		t.Skip("make torture ENGINE=postgres runs it")
	}
	s := newScene(t, "incremental")
	release := s.releases(18)[0]
	dir := t.TempDir()
	s.create(release, "2")
	s.sql(rows)
	s.sql("CREATE TABLE pages WITH (fillfactor = 45) AS SELECT n, repeat('p', 400) AS v FROM generate_series(1, 60000) n")
	s.sql("VACUUM (FREEZE)")
	s.refused(4, "summarize_wal is off", "backup", "db", "--repository", "dir:"+dir, "--incremental")
	s.must("configure", "db", "--set", "summarize_wal=on")
	s.refused(4, "keeps the manifest of a full backup", "backup", "db", "--repository", "dir:"+dir, "--incremental")
	s.must("backup", "db", "--repository", "dir:"+dir)
	full, err := harness.LastBackup(dir)
	s.ok(err)

	s.sql("UPDATE kept SET word = reverse(word) WHERE n < 1000")
	s.sql("UPDATE pages SET v = repeat('q', 400) WHERE n BETWEEN 20000 AND 23000")
	want := s.sql(contents)
	if plan := s.must("plan", "backup", "db", "--repository", "dir:"+dir, "--incremental").Stdout; !strings.Contains(plan,
		"what changed since "+full.ID) {
		t.Errorf("the plan does not say what it adds to:\n%s", plan)
	}
	s.must("backup", "db", "--repository", "dir:"+dir, "--incremental", "--verify")
	changed, err := harness.LastBackup(dir)
	s.ok(err)
	t.Logf("%d bytes of what changed, %d of all", changed.Bytes, full.Bytes)
	if changed.ID == full.ID || changed.Verified == nil || changed.Bytes*2 > full.Bytes {
		t.Errorf("what changed is %+v, all is %+v", changed, full)
	}
	for _, words := range []string{"ADDS-TO", full.ID} {
		if listed := s.must("backup", "list", "--repository", "dir:"+dir).Stdout; !strings.Contains(listed, words) {
			t.Errorf("the list lacks %q:\n%s", words, listed)
		}
	}
	s.refused(1, "another backup adds to it", "backup", "delete", full.ID, "--repository", "dir:"+dir, "--yes")
	if _, err := os.Stat(full.Path); err != nil {
		t.Error(err)
	}

	s.sql("INSERT INTO kept VALUES (0, 'later')")
	s.must("restore", "copy", "--from", changed.ID, "--repository", "dir:"+dir, "--members", "1", "--storage", "1Gi")
	if got := s.sqlOf("copy", contents); got != want {
		t.Errorf("the copy holds %s, want %s", got, want)
	}
	s.must("delete", "copy", "--skip-backup", "--purge", "--yes")
	s.must("restore", "db", "--in-place", "--from", changed.ID, "--repository", "dir:"+dir, "--yes")
	if got := s.sql(contents); got != want {
		t.Errorf("the database holds %s, want %s", got, want)
	}
	s.healthy(2)
}

// TestIncrementalOffsite has Jobs, which have no key that reads, take a full backup and what changed since. A pod loads
// both out of the store, and goes on with the archived log.
func TestIncrementalOffsite(t *testing.T) {
	if !torture.Full() {
		t.Skip("make torture ENGINE=postgres runs it")
	}
	s := newScene(t, "incr-store")
	s.offsite()
	s.create(s.releases(17)[0], "1", "--config", "summarize_wal=on", "--config", "archive-repository=offsite", "--config",
		"archive_timeout=5s")
	s.sql("CREATE TABLE kept AS SELECT n, md5(n::text) AS word FROM generate_series(1, 1000) n")
	full := s.backup("offsite")
	s.sql("INSERT INTO kept SELECT n, md5(n::text) FROM generate_series(1001, 2000) n")
	s.must("backup", "db", "--repository", "offsite", "--incremental", "--verify")
	id := ""
	for line := range strings.Lines(s.must("backup", "list", "--repository", "offsite").Stdout) {
		if f := strings.Fields(line); strings.HasPrefix(line, "db-") {
			id = max(id, f[0])
		}
	}
	described := s.must("backup", "describe", id, "--repository", "offsite").Stdout
	if !strings.Contains(described, full+": it holds what changed since") || !strings.Contains(described, "served by") {
		t.Errorf("it does not say what it adds to, or is not verified:\n%s", described)
	}
	s.sql("INSERT INTO kept SELECT n, md5(n::text) FROM generate_series(2001, 3000) n")
	want := s.sql(contents)
	at := s.sql(`SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`)
	s.onceArchived(func() harness.Result {
		return s.try("restore", "copy", "--from", id, "--repository", "offsite", "--to-time", at, "--storage", "1Gi")
	})
	if got := s.sqlOf("copy", contents); got != want || !strings.HasPrefix(want, "3000 ") {
		t.Errorf("the copy holds %s, want %s", got, want)
	}
	// What a pod was to load is held, and so is what that adds to.
	for _, id := range []string{full, id} {
		s.refused(1, "it is held until", "backup", "delete", id, "--repository", "offsite", "--yes")
	}
}
