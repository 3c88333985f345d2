//go:build e2e

package etcd

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// TestPlainText asks for a cluster without TLS, grows it, and brings its data
// into a cluster with TLS.
func TestPlainText(t *testing.T) {
	s := newScene(t, "plain", "my-db", "my-copy")
	s.create("my-db", "3.7", "1", "--no-tls")
	db := s.dial("my-db")
	s.ok(harness.FillKeys(s.ctx, db, "kept/", 500, 64))
	s.must("scale", "my-db", "--members", "3")
	s.healthy("my-db", 3)
	if files, err := s.site.ClientFiles(s.ctx, s.ns, "my-db"); err != nil || files != nil {
		t.Errorf("a cluster without TLS has a client secret: %v", err)
	}
	s.must("restore", "my-copy", "--from", s.someBackup(), "--members", "1", "--storage", storage)
	s.holdsBackup("my-copy")
	if files, err := s.site.ClientFiles(s.ctx, s.ns, "my-copy"); err != nil || files == nil {
		t.Errorf("the restored cluster has no TLS: %v", err)
	}
}
