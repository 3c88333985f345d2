//go:build e2e

package postgres

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// wantedCopy is a cluster that an operator makes of a backup and the log up to a transaction.
const wantedCopy = `
apiVersion: dbop.dev/v1alpha1
kind: DatabaseCluster
metadata: {name: asked}
spec:
  engine: postgres
  version: %q
  image: %s
  members: 1
  storage: {size: 1Gi}
  auth: {enabled: true}
  restoreFrom: {repository: offsite, backup: %s, target: {transaction: %q, exclusive: true}}
`

// TestTarget restores to a restore point and to a transaction, in a new cluster and by an operator, and in place to
// right before a place in the log. A restore point that nobody made ends in no cluster.
func TestTarget(t *testing.T) {
	if !torture.Full() {
		t.Skip("make torture ENGINE=postgres runs it; TestTargets restores to each kind of place as plain processes")
	}
	s := newScene(t, "target")
	if !s.site.HasObjectStore() {
		t.Skip("no image of an object store: run make stores cluster-up, or set DBOP_STORE_IMAGE")
	}
	s.offsite()
	release := s.releases(17)[0]
	s.create(release, "1", "--config", "archive-repository=offsite", "--config", "archive_timeout=5s")
	s.sql("CREATE TABLE kept (n int)")
	id := s.backup("offsite")
	s.sql("INSERT INTO kept VALUES (1)")
	s.sql("SELECT pg_create_restore_point('before-import')")
	lsn := s.sql("INSERT INTO kept VALUES (2); SELECT pg_current_wal_insert_lsn()")
	lsn = lsn[strings.LastIndexByte(lsn, '\n')+1:]
	xid := s.sql("INSERT INTO kept VALUES (3); SELECT pg_current_xact_id()")
	xid = xid[strings.LastIndexByte(xid, '\n')+1:]
	s.sql("DROP TABLE kept")
	restore := func(name string, to ...string) harness.Result {
		return s.try(append([]string{"restore", name, "--from", id, "--repository", "offsite", "--members", "1",
			"--storage", "1Gi"}, to...)...)
	}
	for _, far := range []string{"0/1", "FF/1"} {
		if r := restore("far", "--to-lsn", far); r.Code != 4 || !strings.Contains(r.Stderr, "is outside") {
			t.Errorf("the place %s is not refused:\n%s", far, r)
		}
	}
	if r := s.must("plan", "restore", "named", "--from", id, "--repository", "offsite", "--to-name",
		"before-import"); !strings.Contains(r.Stdout, "up to restore point before-import") {
		t.Errorf("the plan doesn't name the target:\n%s", r)
	}
	s.sql("SELECT pg_switch_wal()")
	time.Sleep(time.Second)
	s.onceArchived(func() harness.Result { return restore("placed", "--to-lsn", s.sql("SELECT '"+lsn+"'::pg_lsn")) })
	if got := s.sqlOf("placed", "SELECT count(*) FROM kept"); got != "2" {
		t.Errorf("up to the place it holds %s rows", got)
	}
	s.must("restore", "named", "--from", id, "--repository", "offsite", "--members", "1", "--storage", "1Gi", "--to-name",
		"before-import")
	if got := s.sqlOf("named", "SELECT count(*) FROM kept"); got != "1" {
		t.Errorf("up to the restore point it holds %s rows", got)
	}
	if r := restore("never", "--to-name", "nobody-made-it"); r.Code == 0 ||
		!strings.Contains(r.Stderr, "restore point nobody-made-it was never reached") {
		t.Errorf("a restore point that is not there:\n%s", r)
	}
	s.must("delete", "never", "--purge", "--yes")
	s.healthy(1)
	s.must("restore", "db", "--in-place", "--from", id, "--repository", "offsite", "--to-lsn", lsn, "--exclusive", "--yes")
	s.healthy(1)
	if got := s.sql("SELECT count(*) FROM kept"); got != "1" {
		t.Errorf("put back to before the place, it holds %s rows", got)
	}

	s.must("operator", "install", "--operator-namespace", s.ns, "--watch", s.ns)
	manifest := filepath.Join(t.TempDir(), "asked.yaml")
	s.ok(os.WriteFile(manifest, fmt.Appendf(nil, wantedCopy, release.Version, release.Image, id, xid), 0o600))
	s.kubectl("apply", "-f", manifest)
	s.ok(harness.Until(s.ctx, 3*time.Minute, "the operator's copy", func(context.Context) error {
		if r := s.try("connect", "asked", "--", "-At", "-d", "app", "-c", "SELECT count(*) FROM kept"); r.Code != 0 ||
			strings.TrimSpace(r.Stdout) != "2" {
			return fmt.Errorf("it holds:\n%s", r)
		}
		return nil
	}))
}
