//go:build e2e

package etcd

import (
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
	"github.com/dbop-dev/kubectl-dbop/test/history"
)

const (
	// loadRate of the writer, beside the clients whose history is judged.
	loadRate = 200
	// compactors read and write shared keys.
	compactors = 4
	// judgedWithin bounds the check of one history.
	judgedWithin = time.Minute
)

// load is clients at work: one that counts acknowledgements, and several whose
// reads and writes must be linearizable.
type load struct {
	s       *scene
	db      *harness.Etcd
	writer  *harness.Writer
	history *history.History
}

func (s *scene) underLoad(name string, seed uint64) *load {
	s.Helper()
	return s.loaded(name, seed, loadRate)
}

// loaded is clients at work, whose writer writes so often a second.
func (s *scene) loaded(name string, seed uint64, rate int) *load {
	s.Helper()
	db := s.dial(name)
	return &load{s: s, db: db, writer: harness.StartWriter(s.ctx, db, "load/", rate),
		history: history.Start(s.ctx, func(int) history.Registers {
			return harness.Registers{Client: db}
		}, "register/", compactors, seed)}
}

// do runs a command under load and says how long clients had to wait.
func (l *load) do(args ...string) {
	l.s.Helper()
	from := time.Now()
	l.s.must(args...)
	l.s.Logf("%v: longest write gap %s", args, l.writer.LongestGap(from, time.Now()).Round(time.Millisecond))
}

// end stops the clients and judges what they saw.
func (l *load) end() {
	l.s.Helper()
	counts := l.s.nothingLost(l.db, l.writer, "load/")
	judged, err := l.history.Stop(judgedWithin)
	if err != nil {
		l.s.Error(err)
	}
	l.s.Logf(
		"%d writes acknowledged, none lost, %d tries repeated (%s); %d operations linearizable, %d of unknown end, judged "+
			"in %s",
		counts.Acked, counts.Unknown, counts.LastError, judged.Operations, judged.Unknown,
		judged.Took.Round(time.Millisecond))
}

// TestGrowUnderLoad adds and removes members while clients are at work.
func TestGrowUnderLoad(t *testing.T) {
	s := newScene(t, "grow", "my-db")
	s.create("my-db", "3.6", "3")
	l := s.underLoad("my-db", torture.Seed(t))
	l.do("add-member", "my-db")
	l.do("scale", "my-db", "--members", "5")
	l.do("member", "remove", "my-db", s.leader("my-db"), "--yes")
	l.do("scale", "my-db", "--members", "3", "--yes")
	l.end()
	s.healthy("my-db", 3)
}

// TestUpgradeUnderLoad upgrades twice while clients are at work.
func TestUpgradeUnderLoad(t *testing.T) {
	s := newScene(t, "upgrade", "my-db")
	s.create("my-db", "3.5", "3")
	l := s.underLoad("my-db", torture.Seed(t))
	l.do("upgrade", "my-db", "--version", "3.6")
	l.do("upgrade", "--version", "3.7")
	l.end()
	s.healthy("my-db", 3)
}

// TestRestoreUnderLoad restores a backup that was made under load into a
// second cluster, while clients go on in the first. Whatever was acknowledged
// before the backup began is in the second cluster.
func TestRestoreUnderLoad(t *testing.T) {
	s := newScene(t, "restore", "my-db", "my-copy")
	s.create("my-db", "3.6", "3")
	l := s.underLoad("my-db", torture.Seed(t))
	s.ok(harness.FillKeys(s.ctx, l.db, "kept/", 2000, 64))
	before := l.writer.AckedBefore()
	l.do("backup", "my-db", "--verify")
	b, err := harness.LastBackup(s.backups)
	s.ok(err)
	l.do("restore", "my-copy", "--from", b.ID, "--members", "3", "--storage", storage)
	s.healthy("my-copy", 3)
	second := s.dial("my-copy")
	n, err := harness.CompareKeys(s.ctx, l.db, second, "kept/")
	s.ok(err)
	missing, err := harness.MissingAcks(s.ctx, second, "load/", before)
	s.ok(err)
	if len(missing) > 0 {
		t.Errorf("%d of %d writes acknowledged before the backup are not in it, such as %s", len(missing), len(before),
			missing[0])
	}
	t.Logf("%d keys equal, %d writes acknowledged before the backup are in it", n, len(before))
	l.end()
}
