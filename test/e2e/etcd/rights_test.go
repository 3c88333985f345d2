//go:build e2e

package etcd

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// as is the tool in the hands of a user with one role in the scene's namespace.
func (s *scene) as(user, role string) harness.Command {
	s.Helper()
	config := filepath.Join(s.home, user+".kubeconfig")
	s.ok(s.site.User(s.ctx, s.ns, user, role, config))
	return s.site.CLI(s.home, map[string]string{"KUBECONFIG": config, "DBOP_REPOSITORY": "dir:" + s.backups})
}

// TestEditRole does everything with nothing but the stock role edit in one
// namespace.
func TestEditRole(t *testing.T) {
	s := newScene(t, "edit", "my-db", "my-copy")
	s.cli = s.as("jane", "edit")
	s.claim("backups")
	s.create("my-db", "3.5", "3")
	db := s.dial("my-db")
	s.ok(harness.FillKeys(s.ctx, db, "kept/", 500, 64))
	s.must("list")
	s.must("status", "my-db")
	s.must("connect", "my-db", "--", "endpoint", "health")
	s.must("logs", "my-db", "--tail", "3")
	s.must("add-member", "my-db")
	s.must("member", "remove", "my-db", "my-db-4", "--yes")
	s.must("scale", "my-db", "--members", "5")
	s.must("scale", "my-db", "--members", "3", "--yes")
	s.must("backup", "my-db", "--repository", "pvc:backups", "--verify")
	id := s.someBackup()
	kept := strings.TrimPrefix(strings.TrimSpace(s.must("backup", "list", "--repository", "pvc:backups", "-o",
		"name").Stdout), "backup/")
	s.must("backup", "verify", id)
	s.must("upgrade", "my-db", "--version", "3.6")
	r := s.must("restore", "my-copy", "--from", kept, "--repository", "pvc:backups", "--members", "3", "--storage",
		storage)
	if !strings.Contains(r.Stderr, "which mounts claim backups") {
		s.Errorf("the backup was sent to the pod that loads it:\n%s", r)
	}
	s.healthy("my-copy", 3)
	s.holdsBackup("my-copy")
	s.must("history", "my-db")
	s.must("restore", "my-copy", "--in-place", "--from", id, "--yes")
	s.must("delete", "my-copy", "--purge", "--skip-backup", "--yes")
	s.healthy("my-db", 3)
	s.must("delete", "my-db", "--purge", "--yes")
}

// TestForbidden asks without the right to: verb, resource, namespace and the
// role that grants it are named.
func TestForbidden(t *testing.T) {
	s := newScene(t, "forbidden", "my-db")
	s.create("my-db", "3.6", "1")
	nobody, viewer := s.as("nobody", ""), s.as("viewer", "view")
	who := "system:serviceaccount:" + s.ns + ":nobody"
	s.quick(s.judge(s.with(nobody, "list"), 7, "list", "configmaps", s.ns, "clusterrole=edit", who))
	s.quick(s.judge(s.with(nobody, "status", "my-db"), 7, "get", "configmaps", s.ns, "clusterrole=edit", who))
	s.ok(harness.Until(s.ctx, podWithin, "the namespace to be still", s.still))
	before := s.snapshot()
	for _, args := range [][]string{
		{"create", "other", "--engine", "etcd"},
		{"scale", "my-db", "--members", "3"},
		{"delete", "my-db", "--yes"},
	} {
		s.quick(s.judge(s.with(viewer, args...), 7, "verb", s.ns, "clusterrole=edit"))
	}
	s.same(before)
}
