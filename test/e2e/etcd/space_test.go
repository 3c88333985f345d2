//go:build e2e

package etcd

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/disk"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// printed is the command that makes the volumes large enough.
var printed = regexp.MustCompile(`kubectl dbop (?:-n \S+ )?(resize my-db --storage [^ ,]+),`)

// TestVolumeTooFullToDefragment takes the space that a defragmentation needs,
// and goes the way out that is printed to its end. What earlier tries left is
// removed, and the volume is never fuller than it was.
func TestVolumeTooFullToDefragment(t *testing.T) {
	s := newScene(t, "space", "my-db")
	s.create("my-db", "3.6", "3", "--config", "quota-backend-bytes=67108864")
	machine, err := s.site.Machine()
	if err != nil {
		t.Skip(err)
	}
	s.exhaust(overwritten)
	target := s.follower("my-db")
	volume, err := machine.Volume(s.ctx, s.ns, target)
	s.ok(err)
	data, err := machine.DataFile(s.ctx, s.ns, target)
	s.ok(err)
	left := filepath.Join(filepath.Dir(data), "db.tmp.123")
	s.ok(os.WriteFile(left, make([]byte, 20<<20), 0o600))
	s.ok(harness.FillBut(volume, 60<<20))
	before, err := disk.Free(volume)
	s.ok(err)

	r := s.refused(4, []string{"the volume of " + target + " is too full", "MiB are free"}, "alarms", "clear", "my-db",
		"--keep-revisions", "0")
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what a failed try left is still there: %v", err)
	}
	after, err := disk.Free(volume)
	s.ok(err)
	t.Logf("%d MiB free before, %d MiB after", before>>20, after>>20)
	if after < before {
		t.Errorf("the volume is fuller than it was: %d bytes free before, %d after", before, after)
	}
	if copies, _ := filepath.Glob(filepath.Join(filepath.Dir(data), "db.tmp.*")); len(copies) > 0 {
		t.Errorf("left: %v", copies)
	}
	way := printed.FindStringSubmatch(r.Stderr)
	if way == nil {
		t.Fatalf("no command to make room:\n%s", r)
	}
	s.must(strings.Fields(way[1])...)
	s.must("alarms", "clear", "my-db", "--keep-revisions", "0")
	s.healthy("my-db", 3)
	if pods := s.kubectl("get", "pods", "-l", "dbop.dev/purpose", "-o", "name"); pods.Stdout != "" {
		t.Errorf("helper pods are left: %s", pods.Stdout)
	}
	s.ok(harness.FillKeys(s.ctx, s.dial("my-db"), "after/", 100, 64))
}
