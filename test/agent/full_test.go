package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestDiskFull fills the volume of the primary, which is a small file system in memory. A server that answers with an
// error lives: the member leads on, and takes writes again once there is room. One that has no room for its log ends,
// and another member leads.
func TestDiskFull(t *testing.T) {
	if !torture() && !*allFlag {
		t.Skip("-all is not set")
	}
	if os.Getuid() != 0 {
		t.Skip("it takes root to mount a small volume")
	}
	for _, d := range []protocol.Durability{protocol.Strict, protocol.Async} {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			s := begin(t, options{durability: d, members: 3, small: 512 << 20}, *seedFlag)
			s.make(trouble{"the disk of the primary has no room for data", (*story).fillData})
			s.make(trouble{"the disk of the primary has no room for the log", (*story).fillLog})
			s.clients.check(t)
		})
	}
}

// fillData has the primary refuse rows.
func (s *story) fillData() {
	p := s.awaitPrimary()
	g := p.known().Generation
	f := filler{s, filepath.Join(p.directory, "filler")}
	s.wait("the primary to refuse a row", func() bool {
		f.fill()
		_, err := p.ask("dbop", 10*time.Second, "CREATE TABLE IF NOT EXISTS filler (x text); "+
			"INSERT INTO filler SELECT repeat(md5(i::text), 20) FROM generate_series(1, 2000) i")
		return err != nil && strings.Contains(err.Error(), "No space left")
	})
	time.Sleep(2 * s.lease())
	if !p.leads(g) {
		s.t.Errorf("%s does not lead any more:\n%s", p.id, s.describe())
	}
	f.empty()
	s.again()
	if !p.leads(g) {
		s.t.Errorf("%s does not lead any more:\n%s", p.id, s.describe())
	}
}

// fillLog has the primary find no room for what it must write before it answers.
func (s *story) fillLog() {
	p := s.awaitPrimary()
	f := filler{s, filepath.Join(p.directory, "filler")}
	s.wait("another primary", func() bool {
		f.fill()
		_, _ = p.ask("dbop", 5*time.Second, "SELECT pg_logical_emit_message(true, 'test', repeat('x', 4000000))")
		now := s.primary()
		return now != nil && now != p
	})
	s.again()
	f.empty()
}
