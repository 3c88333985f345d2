package agent

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	contract "github.com/dbop-dev/kubectl-dbop/pkg/engine"
	engines "github.com/dbop-dev/kubectl-dbop/pkg/engine/postgres"
	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// archiving is PostgreSQL that keeps its log until that is archived.
type archiving struct{ postgres }

func (a archiving) values() map[string]string {
	v := a.postgres.values()
	v["archive_mode"], v["archive_timeout"] = "always", "2s"
	return v
}

// TestArchive archives the log while clients write and primaries are killed: no file is missing, on no timeline.
func TestArchive(t *testing.T) {
	t.Parallel()
	s := begin(t, options{durability: protocol.Strict, members: 3, engine: archiving{}}, 1)
	collector := s.collector(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- collector.Run(ctx) }()
	first := s.awaitPrimary()
	backup := s.facts(first, "base")
	for range 2 {
		time.Sleep(4 * time.Second)
		p := s.primary()
		if p == nil {
			s.wait("a primary", func() bool { return s.primary() != nil })
			p = s.primary()
		}
		p.kill()
		s.wait("another primary", func() bool { n := s.primary(); return n != nil && n != p })
		p.start()
	}
	before := time.Now()
	s.wait("the log until now to be archived", func() bool {
		w := s.window(t, collector, backup)
		return w.To.After(before)
	})
	w := s.window(t, collector, backup)
	s.clients.check(t)
	if w.Gap != "" || w.Timeline == "1" {
		t.Errorf("the window is %+v", w)
	}
	s.wait("all members to let go", func() bool {
		files, err := collector.Source.WaitingLog(t.Context())
		return err == nil && len(files) <= 2
	})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestForward drops a table, and brings a backup to the moment before, over a failover.
func TestForward(t *testing.T) {
	t.Parallel()
	s := newSite(t, options{durability: protocol.Strict, members: 3, engine: archiving{}})
	s.wait("a primary", func() bool { return s.primary() != nil })
	collector := s.collector(t)
	ask := func(statement string) string {
		t.Helper()
		var got [][]string
		s.wait(statement, func() (done bool) {
			p := s.primary()
			if p == nil {
				return false
			}
			var err error
			got, err = p.ask("dbop", 10*time.Second, statement)
			return err == nil
		})
		if len(got) == 0 {
			return ""
		}
		return got[0][0]
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- collector.Run(ctx) }()
	s.wait("all to stream", s.whole)
	first := s.awaitPrimary()
	backup := s.facts(s.members[slices.IndexFunc(s.members, func(m *member) bool { return m != first })], "base")
	ask("CREATE TABLE IF NOT EXISTS kept AS SELECT generate_series(1, 1000) AS n")
	// The log ends together with a file, of which standbys don't know yet that it is complete.
	ask("SELECT pg_switch_wal()")
	p := s.awaitPrimary()
	p.kill()
	s.wait("another primary", func() bool { n := s.primary(); return n != nil && n != p })
	ask("INSERT INTO kept VALUES (2000)")
	clock := func() time.Time {
		t.Helper()
		now, err := time.Parse("2006-01-02 15:04:05.999999-07", ask("SELECT clock_timestamp() AT TIME ZONE 'UTC' || '+00'"))
		if err != nil {
			t.Fatal(err)
		}
		return now
	}
	at := clock()
	ask("DROP TABLE IF EXISTS kept")
	time.Sleep(time.Second)
	last := clock()
	ask("CREATE TABLE IF NOT EXISTS later AS SELECT 1 AS n")
	var w contract.LogWindow
	s.wait("all of it to be archived", func() bool {
		w = s.window(t, collector, backup)
		return w.To.After(last)
	})
	stop()
	<-ended
	r := newSite(t, options{durability: protocol.Strict, members: 1})
	m := r.forward(s.dir+"/base", v1alpha1.RecoveryTarget{Time: at.Format(time.RFC3339Nano), Timeline: w.Timeline},
		s.spool(t, collector))
	got, err := m.ask("dbop", 10*time.Second, "SELECT count(*), max(n) FROM kept")
	if err != nil || got[0][0] != "1001" || got[0][1] != "2000" {
		t.Errorf("the table has %v, %v", got, err)
	}
	if _, err := m.ask("dbop", 10*time.Second, "SELECT n FROM later"); err == nil {
		t.Error("what was committed later is there")
	}
	all := newSite(t, options{durability: protocol.Strict, members: 1})
	m2 := all.forward(s.dir+"/base", v1alpha1.RecoveryTarget{Time: v1alpha1.TargetLatest, Timeline: w.Timeline},
		s.dir+"/spool")
	if got, err := m2.ask("dbop", 10*time.Second, "SELECT n FROM later"); err != nil || got[0][0] != "1" {
		t.Errorf("all of the log has %v, %v", got, err)
	}
	s.wait("the data to be described as that of the backup", func() bool {
		c, err := m.client.Contents(t.Context())
		return err == nil && c.Proof == string(backup.Proof)
	})
}

// spool writes the archived log to files.
func (s *site) spool(t *testing.T, c *helper.Collector) string {
	t.Helper()
	dir := s.dir + "/spool"
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	all, err := c.Log.Segments(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		body, err := c.Log.Read(t.Context(), f)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, f.Name), body, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// forward starts the first member on a backup that was brought to a moment.
func (s *site) forward(file string, to v1alpha1.RecoveryTarget, spool string) *member {
	s.t.Helper()
	return s.restoreWith(file, s.bring(to, spool))
}

// bring has unpacked data of a member brought to a target.
func (s *site) bring(to v1alpha1.RecoveryTarget, spool string) func(*member) error {
	return func(m *member) error {
		sockets := filepath.Join(s.dir, "f")
		if err := os.Mkdir(sockets, 0o700); err != nil {
			return err
		}
		s.own(sockets)
		data := filepath.Join(m.directory, "data")
		f := engines.Forward{Directory: data, Bin: programs(s.t), Sockets: sockets, Target: to,
			RestoreCommand: "cp " + spool + "/%f %p", Prepare: func(c *exec.Cmd) {
				s.ownTree(m.directory)
				s.ownTree(sockets)
				c.SysProcAttr = &syscall.SysProcAttr{Credential: s.owner}
			}}
		return f.Run(s.t.Context())
	}
}

// facts are those of a backup.
func (s *site) facts(from *member, name string) contract.SnapshotFacts {
	s.t.Helper()
	file := filepath.Join(s.dir, name)
	s.copy(from, file)
	f, err := s.engine.tool().OpenSnapshot(file, false)
	if err != nil {
		s.t.Fatal(err)
	}
	return f
}

// window is what the archive and a backup cover.
func (s *site) window(t *testing.T, c *helper.Collector, backup contract.SnapshotFacts) contract.LogWindow {
	t.Helper()
	all, err := c.Log.Segments(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s.engine.tool().LogWindow(backup, bucket.LogFiles(all))
}

// collector archives into a directory.
func (s *site) collector(t *testing.T) *helper.Collector {
	t.Helper()
	dir, err := store.NewDirectory(t.TempDir() + "/store")
	if err != nil {
		t.Fatal(err)
	}
	return s.collectorInto(t, archive.Open(dir, signing(t)))
}

// signing are new keys, without encryption.
func signing(t *testing.T) archive.Keys {
	t.Helper()
	signer, public, err := archive.NewSigner("test")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := archive.ParseKeys(nil, nil, signer, []string{public})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// collectorInto archives into a repository.
func (s *site) collectorInto(t *testing.T, to *archive.Archive) *helper.Collector {
	t.Helper()
	c := &v1alpha1.DatabaseCluster{}
	c.Status.Bootstrap = &v1alpha1.Bootstrap{Token: "token"}
	addresses := map[string]string{}
	for _, m := range s.members {
		c.Status.Bootstrap.Members = append(c.Status.Bootstrap.Members, string(m.id))
		addresses[v1alpha1.PodName(string(m.id))] = m.api
	}
	session, err := s.engine.tool().Connect(contract.Access{Cluster: c, TLS: s.authority.config(t, "tool"),
		Dial: func(ctx context.Context, pod string, _ int) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", addresses[pod])
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	source, ok := session.(contract.LogSource)
	if !ok {
		t.Fatal("its log can't be read")
	}
	log := to.Log(archive.Scope{Namespace: "ns", Cluster: "db"}, "token")
	return &helper.Collector{Source: source, Log: log, Every: 300 * time.Millisecond,
		Report: func(err error) { t.Log("collect:", err) }}
}

// TestArchiveStop: a server that stops doesn't wait for the archive, which nobody serves. It has a bound in seconds, so
// it runs beside no other test.
func TestArchiveStop(t *testing.T) {
	s := newSite(t, options{durability: protocol.Strict, members: 3, engine: archiving{}})
	s.wait("a primary", func() bool { return s.primary() != nil })
	s.wait("files that wait", func() bool {
		files, err := s.awaitPrimary().client.LogFiles(t.Context())
		return err == nil && len(files.Names) > 2
	})
	for _, m := range append([]*member{s.awaitPrimary()}, s.members...) {
		began := time.Now()
		m.stop()
		took := time.Since(began)
		t.Logf("%s: %s", m.id, took)
		if took > 3*time.Second {
			t.Errorf("%s took %s to stop", m.id, took)
		}
		m.start()
		s.wait("all to run", func() bool { return s.primary() != nil && s.whole() })
	}
}
