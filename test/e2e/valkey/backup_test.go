//go:build e2e

package valkey

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/scene"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// TestBackup brings a database of Redis back: loaded in a throw-away member, then over the old one, under other names.
// A copy of which one byte is another is refused.
func TestBackup(t *testing.T) {
	s := scene.New(t, "backup")
	r := release(s, "redis", 8)
	create(s, "redis", r, "1")
	command(s, "EVAL", "for i=1,20000 do redis.call('SET','k'..i,i) end return 0", "0")
	dir := t.TempDir()
	s.Must("backup", "db", "--repository", dir, "--verify")
	found, err := harness.LastBackup(dir)
	s.OK(err)
	id := strings.TrimSuffix(found.Manifest[strings.LastIndexByte(found.Manifest, '/')+1:], ".json")
	command(s, "SET", "later", "1")

	s.Must("restore", "db", "--in-place", "--from", id, "--repository", dir, "--skip-backup", "--yes")
	if got := command(s, "DBSIZE"); got[0] != "20000" {
		t.Errorf("the database holds %s keys", got)
	}
	s.Healthy(1)
	s.Must("undo", "db", "--yes")
	s.Healthy(1)
	if got := command(s, "DBSIZE"); got[0] != "20001" {
		t.Errorf("with the restore taken back, the database holds %s keys", got)
	}

	raw, err := os.ReadFile(found.Path)
	s.OK(err)
	raw[len(raw)/2] ^= 1
	s.OK(os.WriteFile(found.Path, raw, 0o600))
	if r := s.Try("backup", "verify", id, "--repository", dir); r.Code == 0 || !strings.Contains(r.Stderr, "damaged") {
		t.Errorf("a damaged backup is verified:\n%s", r)
	}
}

// TestSuccession moves a database from Redis to Valkey, with its users.
func TestSuccession(t *testing.T) {
	s := scene.New(t, "succession")
	create(s, "redis", release(s, "redis", 7), "1")
	command(s, "EVAL", "for i=1,1000 do redis.call('SET','k'..i,i) end return 0", "0")
	s.Must("user", "create", "db", "alice", "--prefix", "k")
	dir := t.TempDir()
	s.Must("backup", "db", "--repository", dir)
	found, err := harness.LastBackup(dir)
	s.OK(err)
	id := strings.TrimSuffix(found.Manifest[strings.LastIndexByte(found.Manifest, '/')+1:], ".json")
	to := release(s, "valkey", 9)
	valkey := []string{"--engine", "valkey", "--version", to.Version, "--image", to.Image, "--repository", dir}
	s.Must(slices.Concat([]string{"restore", "next", "--from", id, "--members", "3"}, valkey)...)
	if r := s.Must("connect", "next", "--", "DBSIZE"); strings.TrimSpace(r.Stdout) != "1000" {
		t.Errorf("the database holds %s keys", r.Stdout)
	}
	if r := s.Must("user", "list", "next"); !strings.Contains(r.Stdout, "alice") {
		t.Errorf("the users are:\n%s", r.Stdout)
	}
}
