//go:build e2e

package objectstore

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// TestPostgres has a Job take a base backup into a store, and a pod load it from there.
func TestPostgres(t *testing.T) {
	if !torture.Full() {
		t.Skip("make torture ENGINE=objectstore runs it: the tests of PostgreSQL back up to this store, and restore from it")
	}
	s := newScene(t, "store-pg")
	found, err := harness.PostgresReleases(17)
	s.ok(err)
	release := found[0]
	s.succeeded(s.add("main", "--new-key-file", s.file("key.txt")), "repository add")
	s.succeeded(s.add("main", "--identity-file", s.file("key.txt")), "repository add --identity-file")
	s.must("create", "my-db", "--engine", "postgres", "--version", release.Version, "--image", release.Image,
		"--members", "1", "--storage", "1Gi")
	sql := func(cluster, statement string) string {
		s.Helper()
		r, err := s.cli.Run(s.ctx, "-n", s.ns, "connect", cluster, "--", "-At", "-d", "app", "-c", statement)
		s.ok(err)
		return strings.TrimSpace(s.succeeded(r, "connect").Stdout)
	}
	sql("my-db", "CREATE TABLE kept AS SELECT n FROM generate_series(1, 1000) n")
	s.must("backup", "my-db", "--repository", "offsite", "--verify")
	id := s.newest()
	s.says(s.must("backup", "describe", id, "--repository", "offsite"), "served by postgres", "End of log")
	s.must("restore", "my-copy", "--from", id, "--repository", "offsite", "--storage", "1Gi")
	if got := sql("my-copy", "SELECT sum(n) FROM kept"); got != "500500" {
		t.Errorf("the restored cluster holds %q", got)
	}
}
