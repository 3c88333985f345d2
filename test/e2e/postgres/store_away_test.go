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

// TestStoreAwayAnHour has the store away for an hour while a client writes, and the primary killed in the middle. All
// of the log is archived within minutes once the store is back. What a moment of that hour held comes back exactly.
func TestStoreAwayAnHour(t *testing.T) {
	if !torture.Full() {
		t.Skip("make torture ENGINE=postgres runs it")
	}
	s := newVictim(t)
	if !s.site.HasObjectStore() {
		t.Skip("no image of an object store: run make stores cluster-up, or set DBOP_STORE_IMAGE")
	}
	s.offsite()
	release := s.releases(17)[0]
	s.create(release, "3", "--config", "archive-repository=offsite", "--config", "archive_timeout=60s",
		"--config", "durability=strict", "--storage", "4Gi")
	s.sql("CREATE TABLE kept (n bigint)")
	id := s.backup("offsite")
	w := s.write(release)
	s.kubectl("patch", "service", "store", "-p", `{"spec": {"selector": {"app": "away"}}}`)
	began := time.Now()
	var all []moment
	for round := range 6 {
		s.rows(2000)
		all = append(all, s.moment(fmt.Sprint("after ", time.Since(began).Round(time.Minute))))
		s.rows(2000)
		if round == 3 {
			s.kubectl("delete", "pod", s.primary()+"-0", "--grace-period=0", "--force")
		}
		time.Sleep(time.Until(began.Add(time.Duration(round+1) * 10 * time.Minute)))
		w.goesOn(fmt.Sprintf("clients write, %d minutes without a store", 10*(round+1)))
		if r := s.try("status", "db"); !strings.Contains(r.Stdout, waits) {
			t.Errorf("the status does not say that the log waits:\n%s", r)
		}
	}
	s.kubectl("patch", "service", "store", "-p", `{"spec": {"selector": {"app": "store"}}}`)
	back := time.Now()
	s.ok(harness.Until(s.ctx, 10*time.Minute, "the log of the hour to be archived", func(context.Context) error {
		if r := s.try("status", "db"); r.Code != 0 || strings.Contains(r.Stdout, waits) {
			return errors.New(r.Stdout)
		}
		return nil
	}))
	t.Logf("all of the log was archived %s after the store was back", time.Since(back).Round(time.Second))
	w.check()
	for i, m := range all {
		name := fmt.Sprintf("copy-%d", i)
		s.onceArchived(func() harness.Result {
			return s.try("restore", name, "--from", id, "--repository", "offsite", "--to-time", m.at, "--members", "1",
				"--storage", "4Gi")
		})
		if got := s.sqlOf(name, counted); got != m.rows {
			t.Errorf("%s, at %s: it holds %s, want %s", m.name, m.at, got, m.rows)
		}
		s.must("delete", name, "--skip-backup", "--purge", "--yes")
	}
}
