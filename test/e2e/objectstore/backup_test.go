//go:build e2e

package objectstore

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// TestBackupAndRestore takes backups into a store, loses the cluster and has it back.
func TestBackupAndRestore(t *testing.T) {
	s := newScene(t, "store")
	s.says(s.succeeded(s.add("main", "--new-key-file", s.file("key.txt")), "repository add"), "repository/offsite added",
		"never replaces an object by a put")
	s.says(s.must("repository", "check", "offsite"), "lets these credentials delete")
	s.says(s.must("repository", "list"), "s3://backups/main", "to one key")
	s.must("create", "my-db", "--engine", "etcd", "--version", "3.6", "--members", "3", "--storage", "512Mi")
	db, err := s.site.DialEtcd(s.ctx, s.ns, "my-db")
	s.ok(err)
	s.ok(harness.FillKeys(s.ctx, db, "life/", 1000, 64))
	s.ok(db.Close())
	s.says(s.must("backup", "my-db", "--repository", "offsite"), "created")
	id := s.newest()
	s.says(s.must("backup", "describe", id, "--repository", "offsite"), "my-db in namespace "+s.ns, "Keys")
	keys, err := s.store.Keys(s.ctx, bucket)
	s.ok(err)
	if !strings.Contains(strings.Join(keys, " "), "main/manifests/"+s.ns+"/my-db/") {
		s.Errorf("the store holds %q", keys)
	}
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
