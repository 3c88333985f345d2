//go:build e2e

package objectstore

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// TestBackupAndRestore takes backups into a store, loses the cluster and has it back. The bucket retains each new
// object, and is asked to retain backups.
func TestBackupAndRestore(t *testing.T) {
	s := newLockedScene(t, "store", true)
	s.says(s.succeeded(s.add("main", "--new-key-file", s.file("key.txt"), "--retain", "1d"), "repository add"),
		"repository/offsite added", "never replaces an object by a put", "can't be deleted for 1d")
	s.says(s.must("repository", "check", "offsite"), "lets these credentials delete", "governance for 1 days")
	s.says(s.must("repository", "list"), "s3://backups/main", "to one key")
	s.must("create", "my-db", "--engine", "etcd", "--version", "3.6", "--members", "3", "--storage", "512Mi")
	db, err := s.site.DialEtcd(s.ctx, s.ns, "my-db")
	s.ok(err)
	s.ok(harness.FillKeys(s.ctx, db, "life/", 1000, 64))
	s.ok(db.Close())
	s.says(s.must("backup", "my-db", "--repository", "offsite"), "created")
	id := s.newest()
	s.says(s.must("backup", "describe", id, "--repository", "offsite"), "my-db in namespace "+s.ns, "Keys",
		"Retained:")
	s.refused(s.try("backup", "delete", id, "--repository", "offsite", "--yes"), 1, "retained by the store until")
	s.refused(s.try("backup", "verify", id, "--repository", "offsite"), 4, "no key that reads it", "--identity-file")
	s.succeeded(s.add("main", "--identity-file", s.file("key.txt")), "repository add --identity-file")
	s.says(s.must("repository", "check", "offsite", "--identity-file", s.file("key.txt")), "from now on", "1 of 1")
	s.must("backup", "verify", id, "--repository", "offsite")
	s.says(s.must("backup", "describe", id, "--repository", "offsite"), "served by etcd")
	keys, err := s.store.Keys(s.ctx, bucket)
	s.ok(err)
	if !strings.Contains(strings.Join(keys, " "), "main/manifests/"+s.ns+"/my-db/") {
		s.Errorf("the store holds %q", keys)
	}
	s.must("delete", "my-db", "--yes", "--purge", "--skip-backup")
	s.must("restore", "my-copy", "--from", id, "--repository", "offsite", "--storage", "512Mi")
	copied, err := s.site.DialEtcd(s.ctx, s.ns, "my-copy")
	s.ok(err)
	have, err := harness.ReadAll(s.ctx, copied, "life/")
	s.ok(err)
	if len(have) != 1000 {
		t.Errorf("the restored cluster has %d keys", len(have))
	}
	s.ok(harness.FillKeys(s.ctx, copied, "later/", 10, 64))
	s.must("restore", "my-copy", "--in-place", "--from", id, "--repository", "offsite", "--yes")
	if have, err = harness.ReadAll(s.ctx, copied, "later/"); err != nil || len(have) > 0 {
		t.Errorf("after the restore in place there are %d later keys, %v", len(have), err)
	}
	s.ok(copied.Close())
}

// newest is the newest backup of the repository.
func (s *scene) newest() string {
	s.Helper()
	var list struct {
		Items []struct {
			ID string `json:"id"`
		} `json:"items"`
	}
	s.ok(json.Unmarshal([]byte(s.must("backup", "list", "--repository", "offsite", "-o", "json").Stdout), &list))
	if len(list.Items) == 0 {
		s.Fatal("the repository lists no backup")
	}
	return list.Items[0].ID
}
