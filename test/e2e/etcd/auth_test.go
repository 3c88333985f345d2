//go:build e2e

package etcd

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	// passwordRate is low, and loginPatience long: each login by password costs a
	// member a tenth of a second of work, on purpose, and all clients log in again
	// whenever it restarts.
	passwordRate  = 20
	loginPatience = 10 * time.Second
)

// TestAuthUnderLoad enables and disables authentication under clients that have
// the cluster's client certificate, and does everything else in between.
func TestAuthUnderLoad(t *testing.T) {
	s := newScene(t, "auth", "my-db", "my-copy")
	s.create("my-db", "3.5", "3")
	l := s.underLoad("my-db", torture.Seed(t))
	l.do("user", "auth", "enable", "my-db", "--yes")
	s.demands("my-db", "on")
	s.connects("my-db")
	s.ok(harness.FillKeys(s.ctx, l.db, "kept/", 500, 64))
	l.do("scale", "my-db", "--members", "5")
	l.do("member", "remove", "my-db", s.leader("my-db"), "--yes")
	l.do("scale", "my-db", "--members", "3", "--yes")
	l.do("switchover", "my-db")
	l.do("upgrade", "my-db", "--version", "3.6")
	l.do("user", "rotate", "my-db")
	l.do("user", "rotate", "my-db", "--drop-old", "--yes")
	l.do("backup", "my-db", "--verify")
	b, err := harness.LastBackup(s.backups)
	s.ok(err)
	l.do("user", "auth", "disable", "my-db", "--yes")
	s.demands("my-db", "off")
	l.do("user", "auth", "enable", "my-db", "--yes")
	l.end()
	s.healthy("my-db", 3)
	s.must("restore", "my-copy", "--from", b.ID, "--members", "3", "--storage", storage)
	s.healthy("my-copy", 3)
	s.demands("my-copy", "on")
	s.holdsBackup("my-copy")
}

// TestAuthByPassword lets clients of a cluster without TLS log in by password,
// through a rotation, a restore in place, and a restore into another cluster.
func TestAuthByPassword(t *testing.T) {
	s := newScene(t, "password", "my-db", "my-copy")
	// Logins are cheap here, as is sound for generated passwords: the machine that
	// tests run on is shared.
	s.create("my-db", "3.6", "1", "--no-tls", "--config", "bcrypt-cost=4")
	other := s.dial("my-db")
	s.must("user", "create", "my-db", "app")
	app := s.dialAs("my-db", "app")
	w := harness.StartWriter(s.ctx, app, "load/", passwordRate)
	began := time.Now()
	s.must("user", "auth", "enable", "my-db", "--yes")
	s.demands("my-db", "on")
	s.clientRefused(other)
	s.connects("my-db")
	s.must("scale", "my-db", "--members", "3")
	s.must("user", "rotate", "my-db", "app")
	again := s.dialAs("my-db", "app")
	second := harness.StartWriter(s.ctx, again, "second/", passwordRate)
	s.must("user", "rotate", "my-db", "root")
	s.must("switchover", "my-db")
	s.nothingLost(app, w, "load/")
	t.Logf("longest write gap from before authentication until after a rotation: %s",
		w.LongestGap(began, time.Now()).Round(time.Millisecond))
	s.must("user", "rotate", "my-db", "app", "--drop-old", "--yes")
	s.clientRefused(app)
	s.nothingLost(again, second, "second/")
	s.ok(harness.FillKeys(s.ctx, s.dial("my-db"), "kept/", 500, 64))
	id := s.someBackup()
	s.must("backup", "verify", id)
	s.must("upgrade", "my-db", "--version", "3.7")
	s.must("restore", "my-db", "--in-place", "--yes", "--from", id)
	s.healthy("my-db", 3)
	s.demands("my-db", "on")
	s.holdsBackup("my-db")
	restore := []string{"restore", "my-copy", "--from", id, "--members", "1", "--no-tls", "--storage", storage}
	s.refused(4, []string{"administrator's password", "--root-password-secret"}, restore...)
	s.must(append(restore, "--root-password-secret", "my-db-root")...)
	s.healthy("my-copy", 1)
	s.demands("my-copy", "on")
	s.holdsBackup("my-copy")
	// A login of before the restore names an entry of a log that is gone: etcd
	// waits for it without an answer, so clients log in again.
	reconnected := s.dialAs("my-db", "app")
	_, err := reconnected.KV.Get(s.ctx, "kept/000001")
	s.ok(err)
	s.must("user", "delete", "my-db", "app", "--yes")
	s.clientRefused(reconnected)
}

func (s *scene) dialAs(name, user string) *harness.Etcd {
	s.Helper()
	db, err := s.site.DialEtcdAs(s.ctx, s.ns, name, user)
	s.ok(err)
	s.Cleanup(func() { _ = db.Close() })
	db.Limit = loginPatience
	return db
}

// connects is root through the client program of this machine, and asks that
// nothing is left of it.
func (s *scene) connects(name string) {
	s.Helper()
	cli, left := s.cli, s.TempDir()
	cli.Env = maps.Clone(cli.Env)
	cli.Env["PATH"], cli.Env["TMPDIR"] = filepath.Dir(s.site.Tool("etcdctl", "3.6").Path), left
	s.says(s.with(cli, "connect", name, "--", "user", "list"), "client", "root")
	if r := s.with(cli, "connect", name, "--", "get", "k", "--unknown"); r.Code == 0 {
		s.Errorf("etcdctl failed, and connect did not:\n%s", r)
	}
	files, err := os.ReadDir(left)
	s.ok(err)
	if len(files) > 0 {
		s.Errorf("connect left %v behind", files)
	}
	cli.Env["PATH"] = left
	s.judge(s.with(cli, "connect", name), 1, "etcdctl has to run on this machine", "--no-exec")
}

// demands asks every member whether clients must log in.
func (s *scene) demands(name, want string) {
	s.Helper()
	for _, m := range s.status(name).Members {
		if m.Auth != want {
			s.Errorf("authentication of %s is %q, want %q", m.Name, m.Auth, want)
		}
	}
}

// clientRefused asks that a client may not read any more.
func (s *scene) clientRefused(client *harness.Etcd) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, loginPatience)
	defer cancel()
	_, err := client.KV.Get(ctx, "kept/000001")
	if err == nil || !strings.Contains(err.Error(), "etcdserver:") {
		s.Errorf("a client that should be refused reads: %v", err)
	}
}
