//go:build e2e

package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// TestMoment drops a table by mistake, after a switchover, and has it back by a restore to the moment before.
func TestMoment(t *testing.T) {
	s := newScene(t, "moment")
	if !s.site.HasObjectStore() {
		t.Skip("no image of an object store: run make stores cluster-up, or set DBOP_STORE_IMAGE")
	}
	s.offsite()
	release := s.releases(17)[0]
	s.create(release, "2")
	s.must("configure", "db", "--set", "archive-repository=offsite", "--set", "archive_timeout=5s")
	s.healthy(2)
	id := s.backup("offsite")
	s.must("backup", "verify", id, "--repository", "offsite")
	s.sql(rows)
	s.must("switchover", "db")
	want := s.sql(contents)
	at := s.sql(`SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`)
	s.sql("DROP TABLE kept")
	time.Sleep(time.Second)
	s.sql("CREATE TABLE later AS SELECT 1")
	restore := func(to string) harness.Result {
		return s.try("restore", "copy", "--from", id, "--repository", "offsite", "--to-time", to, "--members", "2",
			"--storage", "1Gi")
	}
	if r := restore("2000-01-01T00:00:00Z"); r.Code != 4 || !strings.Contains(r.Stderr, "outside") {
		t.Errorf("a moment before the backup is not refused:\n%s", r)
	}
	s.onceArchived(func() harness.Result { return restore(at) })
	if r := s.must("backup", "list", "--repository", "offsite"); !strings.Contains(r.Stdout, "RESTORABLE-UNTIL") ||
		strings.Contains(r.Stdout, " 0B ") || strings.Contains(r.Stdout, "<none>") {
		t.Errorf("the list does not tell how far the log reaches, or a size:\n%s", r.Stdout)
	}
	if got := s.sqlOf("copy", contents); got != want {
		t.Errorf("the copy holds %s, want %s", got, want)
	}
	s.putBack(id, at, want)
}

// backup takes a backup, and returns its identifier.
func (s *scene) backup(repository string) (id string) {
	s.Helper()
	s.must("backup", "db", "--repository", repository)
	for line := range strings.Lines(s.must("backup", "list", "--repository", repository).Stdout) {
		if f := strings.Fields(line); strings.HasPrefix(line, "db-") {
			id = max(id, f[0]) // it begins with the time
		}
	}
	return id
}

// onceArchived restores to a moment as soon as the log until then is archived.
func (s *scene) onceArchived(restore func() harness.Result) {
	s.Helper()
	s.ok(harness.Until(s.ctx, 2*time.Minute, "the moment to be archived", func(context.Context) error {
		r := restore()
		if r.Code == 4 && strings.Contains(r.Stderr, "outside") {
			return errors.New(r.Stderr)
		}
		if r.Code != 0 {
			s.Fatalf("expected success:\n%s", r)
		}
		return nil
	}))
}

// putBack brings the cluster itself to the moment. What it writes from then on is archived too.
func (s *scene) putBack(id, at, want string) {
	s.Helper()
	s.must("restore", "db", "--in-place", "--from", id, "--repository", "offsite", "--to-time", at, "--yes")
	s.healthy(2)
	if got := s.sql(contents); got != want {
		s.Errorf("put back, it holds %s, want %s", got, want)
	}
	id = s.backup("offsite")
	s.ok(harness.Until(s.ctx, 2*time.Minute, "the log of the new incarnation", func(context.Context) error {
		for line := range strings.Lines(s.must("backup", "list", "--repository", "offsite").Stdout) {
			if strings.HasPrefix(line, id) && !strings.Contains(line, "<none>") {
				return nil
			}
		}
		return errors.New("it is not in the list")
	}))
}

// offsite starts an object store of the namespace, and adds it as a repository with keys.
func (s *scene) offsite() {
	s.Helper()
	s.ok(s.site.AddObjectStore(s.ctx, s.ns, s.TempDir()))
}
