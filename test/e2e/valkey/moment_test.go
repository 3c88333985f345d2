//go:build e2e

package valkey

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/scene"
	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// TestMoment empties a database by mistake, after a switchover, and has it back by a restore to the moment before: as a
// copy, and in its place.
func TestMoment(t *testing.T) {
	if !torture.Full() {
		t.Skip("make torture ENGINE=valkey runs it")
	}
	s := scene.New(t, "moment")
	if !s.Site.HasObjectStore() {
		t.Skip("no image of an object store: run make stores cluster-up, or set DBOP_STORE_IMAGE")
	}
	s.OK(s.Site.AddObjectStore(s.Ctx, s.NS, t.TempDir()))
	create(s, "valkey", release(s, "valkey", 8), "3", "--config", "archive-repository=offsite", "--config",
		"archive-timeout=2s")
	write := func(n string) {
		command(s, "EVAL", "for i=1,ARGV[1] do redis.call('INCR','count') redis.call('RPUSH','list',i) end return 0", "0", n)
	}
	write("100")
	s.Must("backup", "db", "--repository", "offsite")
	id := newest(s)
	write("1000")
	s.Must("switchover", "db")
	write("1000")
	time.Sleep(1100 * time.Millisecond) // a moment is at most a second early
	seconds, err := strconv.ParseInt(command(s, "EVAL", "return redis.call('TIME')[1]", "0")[0], 10, 64)
	s.OK(err)
	moment := time.Unix(seconds+1, 0).UTC().Format(time.RFC3339)
	time.Sleep(2 * time.Second)
	command(s, "FLUSHALL")
	restore := func(to string) harness.Result {
		return s.Try("restore", "copy", "--from", id, "--repository", "offsite", "--to-time", to, "--members", "1")
	}
	if r := restore("2000-01-01T00:00:00Z"); r.Code != 4 || !strings.Contains(r.Stderr, "outside") {
		t.Errorf("a moment before the backup is not refused:\n%s", r)
	}
	s.OK(harness.Until(s.Ctx, 2*time.Minute, "the moment to be archived", func(context.Context) error {
		r := restore(moment)
		if r.Code == 4 && strings.Contains(r.Stderr, "outside") {
			return errors.New(r.Stderr)
		}
		if r.Code != 0 {
			s.Fatalf("expected success:\n%s", r)
		}
		return nil
	}))
	if r := s.Must("backup", "list", "--repository", "offsite"); !strings.Contains(r.Stdout, "RESTORABLE-UNTIL") ||
		strings.Contains(r.Stdout, "<none>") {
		t.Errorf("the list does not tell how far the log reaches:\n%s", r.Stdout)
	}
	if r := s.Must("status", "db", "-o", "wide"); !strings.Contains(r.Stdout, "UNARCHIVED") {
		t.Errorf("status does not tell what waits for the archive:\n%s", r.Stdout)
	}
	if r := s.Must("connect", "copy", "--", "GET", "count"); strings.TrimSpace(r.Stdout) != "2100" {
		t.Errorf("the copy counts %s", r.Stdout)
	}
	s.Must("restore", "db", "--in-place", "--from", id, "--repository", "offsite", "--to-time", moment, "--yes")
	s.Healthy(3)
	if got := command(s, "LLEN", "list"); got[0] != "2100" {
		t.Errorf("put back, the list holds %s", got)
	}
	s.Must("backup", "db", "--repository", "offsite")
	after := newest(s)
	s.OK(harness.Until(s.Ctx, time.Minute, "the log of the new incarnation", func(context.Context) error {
		for line := range strings.Lines(s.Must("backup", "list", "--repository", "offsite").Stdout) {
			if strings.HasPrefix(line, after) && !strings.Contains(line, "<none>") {
				return nil
			}
		}
		return errors.New("it is not in the list")
	}))
}

// newest is the identifier of the newest backup: it begins with the time.
func newest(s *scene.Scene) (id string) {
	for line := range strings.Lines(s.Must("backup", "list", "--repository", "offsite").Stdout) {
		if f := strings.Fields(line); strings.HasPrefix(line, "db-") {
			id = max(id, f[0])
		}
	}
	return id
}
