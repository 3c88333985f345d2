//go:build e2e

package etcd

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// TestEveryVerb takes one cluster through its life, verb by verb. After each the cluster is healthy when it is asked
// once, and members have a second or two for their answers: so it runs beside no other test.
func TestEveryVerb(t *testing.T) {
	s := newLoneScene(t, "life", "my-db", "my-copy")
	s.create("my-db", "3.6", "3")
	s.healthy("my-db", 3)
	s.unchanged("create", "my-db", "--engine", "etcd", "--version", "3.6", "--members", "3", "--storage", storage)
	s.reading()
	db := s.dial("my-db")
	s.ok(harness.FillKeys(s.ctx, db, "life/", 1000, 64))
	s.membership()
	id := s.backingUp()
	s.restoring(db, id)

	s.must("upgrade", "--version", "3.7", "my-db")
	s.healthy("my-db", 3)
	s.unchanged("upgrade", "my-db", "--version", "3.7")
	s.says(s.must("history", "my-db"), "create", "scale", "add-member", "remove-member", "backup", "upgrade", "Succeeded")

	s.must("delete", "my-db", "--yes")
	s.settledVolumes("my-db", 6) // those of before the restore in place are kept, too
	last, err := harness.LastBackup(s.backups)
	s.ok(err)
	if last.Count("keys") < 1000 {
		t.Errorf("the last backup holds %d keys", last.Count("keys"))
	}
	s.judge(s.try("status", "my-db"), 6, "my-db", "not found")
	s.remembered()
}

// remembered asks for the records of a cluster that is gone, whole, and among
// those of all namespaces.
func (s *scene) remembered() {
	s.Helper()
	s.says(s.must("history", "my-db"), "create", "restore", "upgrade", "delete")
	var all struct {
		Items []v1alpha1.Operation `json:"items"`
	}
	s.ok(json.Unmarshal([]byte(s.must("history", "-A", "-o", "json").Stdout), &all))
	seen := map[v1alpha1.Verb]bool{}
	for _, o := range all.Items {
		if o.Namespace != s.ns || o.Spec.Cluster != "my-db" {
			continue
		}
		seen[o.Spec.Verb] = true
		if o.Status.Phase != v1alpha1.PhaseSucceeded || o.Spec.RequestedBy == "" || o.Status.FinishedAt == nil ||
			len(o.Status.Journal) == 0 {
			s.Errorf("the record %s is not whole: %+v", o.Name, o)
		}
	}
	for _, v := range []v1alpha1.Verb{v1alpha1.VerbCreate, v1alpha1.VerbScale, v1alpha1.VerbRestore, v1alpha1.VerbUpgrade,
		v1alpha1.VerbDelete} {
		if !seen[v] {
			s.Errorf("the export holds no %s", v)
		}
	}
}

// reading walks through the verbs that only observe.
func (s *scene) reading() {
	s.Helper()
	s.says(s.must("list"), "NAME", "my-db", "etcd", "3.6", "3/3")
	s.says(s.must("status"), "HEALTHY", "my-db-1", "my-db-2", "my-db-3", "leader", "follower")
	s.says(s.must("connect", "my-db", "--", "member", "list"), "started", "my-db-1")
	s.says(s.must("logs", "my-db", "--tail", "5"), "my-db-1 |", "my-db-3 |")
	for _, args := range [][]string{{"list"}, {"status", "my-db"}, {"history", "my-db"}} {
		r := s.must(append(args, "-o", "json")...)
		if !json.Valid([]byte(r.Stdout)) {
			s.Errorf("not JSON:\n%s", r)
		}
	}
}

// membership walks through the verbs that change the size.
func (s *scene) membership() {
	s.Helper()
	s.must("add-member", "my-db")
	s.healthy("my-db", 4)
	s.settledVolumes("my-db", 4)
	leader := s.leader("my-db")
	s.must("member", "remove", "my-db", leader, "--yes")
	s.healthy("my-db", 3)
	s.settledVolumes("my-db", 3)
	s.must("scale", "my-db", "--members", "5")
	s.healthy("my-db", 5)
	s.must("undo", "my-db", "--yes")
	s.healthy("my-db", 3)
	s.settledVolumes("my-db", 3)
	s.unchanged("scale", "my-db", "--members", "3")
	s.refused(4, []string{"already"}, "undo", "my-db", "--yes")
}

// backingUp makes, reads, verifies and deletes backups; it returns one.
func (s *scene) backingUp() string {
	s.Helper()
	s.must("backup", "my-db")
	first, err := harness.LastBackup(s.backups)
	s.ok(err)
	s.must("backup", "verify", first.ID)
	verified, err := harness.LastBackup(s.backups)
	s.ok(err)
	if verified.Verified == nil || verified.ID != first.ID {
		s.Errorf("the manifest does not say that the backup was verified: %+v", verified)
	}
	s.must("backup", "my-db", "--verify")
	second, err := harness.LastBackup(s.backups)
	s.ok(err)
	s.says(s.must("backup", "list"), first.ID, second.ID)
	s.says(s.must("backup", "describe", second.ID), second.ID, "my-db")
	s.must("backup", "delete", first.ID, "--yes")
	if _, err := os.Stat(first.Path); !os.IsNotExist(err) {
		s.Errorf("the deleted backup is still there: %v", err)
	}
	return second.ID
}

// restoring restores into a new cluster and in place, and compares.
func (s *scene) restoring(db *harness.Etcd, id string) {
	s.Helper()
	s.must("restore", "my-copy", "--from", id, "--members", "3", "--storage", storage)
	s.healthy("my-copy", 3)
	n, err := harness.CompareKeys(s.ctx, db, s.dial("my-copy"), "")
	s.ok(err)
	if n < 1000 {
		s.Errorf("only %d keys are compared", n)
	}
	s.must("delete", "my-copy", "--purge", "--skip-backup", "--yes")
	s.settledVolumes("my-copy", 0)

	s.ok(harness.FillKeys(s.ctx, db, "later/", 10, 64))
	s.must("restore", "my-db", "--in-place", "--from", id, "--yes")
	s.healthy("my-db", 3)
	later, err := harness.ReadAll(s.ctx, s.dial("my-db"), "later/")
	s.ok(err)
	if len(later) != 0 {
		s.Errorf("%d keys from after the backup survived a restore in place", len(later))
	}
}

// unchanged repeats a command that has nothing left to do.
func (s *scene) unchanged(args ...string) {
	s.Helper()
	r := s.must(args...)
	if !strings.Contains(r.Stdout, "unchanged") {
		s.Errorf("expected unchanged:\n%s", r)
	}
	if r := s.try(append(args, "--error-unchanged")...); r.Code != 3 {
		s.Errorf("expected exit code 3:\n%s", r)
	}
}

// says asks for words on stdout.
func (s *scene) says(r harness.Result, words ...string) {
	s.Helper()
	for _, w := range words {
		if !strings.Contains(r.Stdout, w) {
			s.Errorf("%q is missing:\n%s", w, r)
		}
	}
}
