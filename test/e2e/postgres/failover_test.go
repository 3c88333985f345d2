//go:build e2e

package postgres

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// TestForcedFailover: a pair's replica lacks more than it may, and its primary never comes back. The members wait, the
// tool says what is lost, and a person decides.
func TestForcedFailover(t *testing.T) {
	if !torture.Full() {
		t.Skip("make torture ENGINE=postgres runs it; TestRequests forces a failover of plain processes")
	}
	s := newScene(t, "force")
	release := s.releases(17)[0]
	s.create(release, "2", "--config", "max-lag=1Mi")
	s.refused(4, "leads, so no member has to be appointed", "failover", "db", "--yes")
	s.sql("SET ROLE dbop_owner_app; CREATE TABLE kept AS SELECT 1 AS n")
	first, second := s.primary(), s.replica()
	row := regexp.MustCompile(second + `\s+replica\s+\S+\s+0\s`)
	s.ok(harness.Until(s.ctx, time.Minute, "the replica to hold what is kept", func(context.Context) error {
		if r := s.try("status", "db"); !row.MatchString(r.Stdout) {
			return fmt.Errorf("the replica lags: %s", r.Stdout)
		}
		return nil
	}))

	s.shared.Size(second, 0)
	// The primary publishes where its log ends when it stops in order: no renewal of its lease follows these rows.
	s.sql("SET ROLE dbop_owner_app; CREATE TABLE lost AS SELECT n, repeat('x', 100) FROM generate_series(1, 20000) AS n")
	s.shared.Size(first, 0)
	s.shared.Size(second, 1)
	s.ok(harness.Until(s.ctx, 2*time.Minute, "the members to wait for a person", func(context.Context) error {
		if r := s.try("status", "db"); !strings.Contains(r.Stdout, "kubectl dbop -n "+s.ns+" plan failover db") {
			return fmt.Errorf("status does not name failover: %s", r.Stdout)
		}
		return nil
	}))
	if r := s.must("plan", "failover", "db", "-o", "wide"); !strings.Contains(r.Stdout, "Appoint "+second) ||
		!strings.Contains(r.Stdout, "bytes of what the last primary published are missing") {
		t.Errorf("the plan does not say what is lost:\n%s", r.Stdout)
	}
	s.must("failover", "db", "--yes")
	if got := s.sql("SELECT n FROM kept"); got != "1" {
		t.Errorf("what was replicated is %q", got)
	}
	if got := s.sql("SELECT count(*) FROM pg_class WHERE relname = 'lost'"); got != "0" {
		t.Error("the primary that was given up was not")
	}
	s.shared.Size(first, 1)
	s.healthy(2)
}
