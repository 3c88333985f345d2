//go:build e2e

package etcd

import (
	"regexp"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// unservedAtMost bounds how long clients may wait while a record is gone and
// written again: no member takes part in that.
const unservedAtMost = 3 * time.Second

// suggested is a command of the plugin inside a hint.
var suggested = regexp.MustCompile(`kubectl dbop .*(repair|create) my-db( --from-volumes)?`)

// TestRecordDeleted deletes the record of a cluster while a client writes, and
// types what status says. Then the cluster is deleted, and starts again on the
// volumes that it left.
func TestRecordDeleted(t *testing.T) {
	s := newScene(t, "record", "my-db")
	s.create("my-db", "3.6", "3")
	db := s.dial("my-db")
	writer, began := harness.StartWriter(s.ctx, db, "record/", loadRate), time.Now()

	s.mustKubectl("delete", "configmap", "my-db.dbop")
	s.asTold(4, "my-db.dbop) is missing")
	s.healthy("my-db", 3)
	if gap := writer.LongestGap(began, time.Now()); gap > unservedAtMost {
		t.Errorf("clients waited for %s", gap)
	}
	counts := s.nothingLost(db, writer, "record/")
	t.Logf("%d writes acknowledged, none lost", counts.Acked)

	s.must("delete", "my-db", "--yes", "--skip-backup")
	s.asTold(6, "volumes of it are kept")
	s.healthy("my-db", 3)
	missing, err := harness.MissingAcks(s.ctx, s.dial("my-db"), "record/", writer.AckedBefore())
	s.ok(err)
	if len(missing) > 0 {
		t.Errorf("%d writes are missing after the start on the volumes, such as %s", len(missing), missing[0])
	}
}

// asTold asks for the status, which fails within seconds and names what is
// wrong, and types the command that it names.
func (s *scene) asTold(code int, says string) {
	s.Helper()
	r := s.judge(s.try("status", "my-db"), code, says)
	if r.Duration > 15*time.Second {
		s.Errorf("it took %s:\n%s", r.Duration, r)
	}
	line := suggested.FindString(r.Stderr)
	if line == "" {
		s.Fatalf("no command is named:\n%s", r)
	}
	if done := (&tampering{scene: s}).shell(line); done.Code != 0 {
		s.Fatalf("%s:\n%s", line, done)
	}
}
