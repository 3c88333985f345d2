//go:build e2e

package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	// storeAway bounds the time until the status tells that the members keep what the store does not take.
	storeAway = 4 * time.Minute
	waits     = "of the log wait for the archive"
)

// moment is what a table held at a time.
type moment struct{ name, at, rows string }

// TestArchiveTrouble has rows written while what archives the log is killed, while the store is away and the primary is
// lost, and while the leader changes twice. A restore to a moment of each trouble holds what was committed by then.
func TestArchiveTrouble(t *testing.T) {
	if !torture.Full() {
		t.Skip("make torture ENGINE=postgres runs it")
	}
	s := newScene(t, "archive")
	if !s.site.HasObjectStore() {
		t.Skip("no image of an object store: run make stores cluster-up, or set DBOP_STORE_IMAGE")
	}
	s.offsite()
	s.create(s.releases(17)[0], "3", "--config", "archive-repository=offsite", "--config", "archive_timeout=5s",
		"--config", "durability=strict")
	s.sql("CREATE TABLE kept (n bigint)")
	id := s.backup("offsite")
	var all []moment
	note := func(name string) {
		s.rows(2000)
		all = append(all, s.moment(name))
		s.rows(2000)
	}
	note("before any trouble")
	for range 3 {
		s.kubectl("delete", "pod", "db-archive-0", "--grace-period=0", "--force")
		s.rows(20000) // more than one file of the log
	}
	note("what archives was killed")

	began := time.Now()
	s.kubectl("patch", "service", "store", "-p", `{"spec": {"selector": {"app": "away"}}}`)
	s.kubectl("delete", "pod", "db-archive-0", "--grace-period=0", "--force")
	s.rows(20000)
	note("the store is away")
	s.kubectl("delete", "pod", s.primary()+"-0", "--grace-period=0", "--force")
	s.healthy(3)
	s.rows(20000)
	note("the primary is lost while the store is away")
	s.ok(harness.Until(s.ctx, storeAway, "the status to say that the log waits", func(context.Context) error {
		s.sql("INSERT INTO kept VALUES (1); SELECT pg_switch_wal()")
		if r := s.try("status", "db"); !strings.Contains(r.Stdout, waits) {
			return errors.New(r.Stdout)
		}
		return nil
	}))
	t.Logf("said after %s", time.Since(began).Round(time.Second))
	s.kubectl("patch", "service", "store", "-p", `{"spec": {"selector": {"app": "store"}}}`)
	note("the store is back")

	for range 2 {
		s.must("switchover", "db")
		s.rows(100)
	}
	note("the leader changed twice")
	s.kubectl("delete", "pod", "db-archive-0", s.primary()+"-0", "--grace-period=0", "--force")
	s.healthy(3)
	note("the primary and what archives are lost at once")
	for i, m := range all {
		name := fmt.Sprintf("copy-%d", i)
		s.onceArchived(func() harness.Result {
			return s.try("restore", name, "--from", id, "--repository", "offsite", "--to-time", m.at, "--members", "1",
				"--storage", "1Gi")
		})
		if got := s.sqlOf(name, counted); got != m.rows {
			t.Errorf("%s, at %s: it holds %s, want %s", m.name, m.at, got, m.rows)
		}
		s.must("delete", name, "--skip-backup", "--purge", "--yes")
	}
	if r := s.must("status", "db"); strings.Contains(r.Stdout, waits) {
		t.Errorf("the log is not archived:\n%s", r.Stdout)
	}
}

const counted = "SELECT count(*) || ' ' || coalesce(sum(n), 0) FROM kept"

// rows commits so many, some at a time.
func (s *scene) rows(n int) {
	s.Helper()
	s.sql(fmt.Sprintf("DO $$ BEGIN FOR i IN 1..10 LOOP INSERT INTO kept SELECT g FROM generate_series(1, %d) g; COMMIT; "+
		"END LOOP; END $$", n/10))
}

// moment is what the table holds now. Nothing else is committed within a second around it.
func (s *scene) moment(name string) moment {
	s.Helper()
	time.Sleep(time.Second)
	m := moment{name: name, rows: s.sql(counted)}
	m.at = s.sql(`SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`)
	time.Sleep(time.Second)
	return m
}
