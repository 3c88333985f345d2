//go:build e2e

package objectstore

import (
	"errors"
	"maps"
	"os"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// googleKeys are 16 MiB, so more than one part of an upload.
const googleKeys, googleValue = 1400, 12 << 10

// TestGoogle has a Job take a backup into a fake of Google's store, and a pod load it from there.
func TestGoogle(t *testing.T) {
	if !torture.Full() {
		t.Skip("one store of three is enough for make test, the long form has this one: DBOP_TORTURE=all")
	}
	s := newBareScene(t, "google")
	image, err := s.site.GoogleImage(s.ctx, s.home)
	if errors.Is(err, harness.ErrNoMachine) {
		t.Skip(err)
	}
	s.ok(err)
	google, err := s.site.StartGoogle(s.ctx, s.ns, image, bucket)
	s.ok(err)
	s.ok(os.WriteFile(s.file("google.pem"), google.CA, 0o600))
	maps.Copy(s.cli.Env, google.Environment())
	add := []string{"repository", "add", "offsite", "--url", "gs://" + bucket + "/main", "--endpoint", google.Endpoint,
		"--ca-file", s.file("google.pem"), "--from-env"}
	s.says(s.must(append(add, "--new-key-file", s.file("key.txt"))...), "repository/offsite added")
	s.must(append(add, "--identity-file", s.file("key.txt"))...)
	s.must("create", "my-db", "--engine", "etcd", "--version", "3.6", "--members", "1", "--storage", "512Mi")
	db, err := s.site.DialEtcd(s.ctx, s.ns, "my-db")
	s.ok(err)
	s.ok(harness.FillKeys(s.ctx, db, "google/", googleKeys, googleValue))
	want, err := harness.ReadAll(s.ctx, db, "google/")
	s.ok(err)
	s.ok(db.Close())
	s.must("backup", "my-db", "--repository", "offsite", "--verify")
	id := s.newest()
	s.says(s.must("backup", "describe", id, "--repository", "offsite"), "served by etcd")
	s.must("delete", "my-db", "--yes", "--purge", "--skip-backup")
	s.must("restore", "my-copy", "--from", id, "--repository", "offsite", "--storage", "512Mi", "--members", "1")
	copied, err := s.site.DialEtcd(s.ctx, s.ns, "my-copy")
	s.ok(err)
	have, err := harness.ReadAll(s.ctx, copied, "google/")
	s.ok(err)
	s.ok(copied.Close())
	if len(have) != googleKeys {
		t.Errorf("the restored cluster has %d keys", len(have))
	}
	for key, value := range want {
		if have[key] != value {
			t.Fatalf("%s differs after the restore", key)
		}
	}
	s.refused(s.try("backup", "delete", id, "--repository", "offsite", "--yes"), 1, "held until") // by the restore
}
