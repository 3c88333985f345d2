package agent

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestCopiedLog: a copy that is made while the primary writes has the archive wait for the log that came with it, too:
// the primary may be lost before it archived that. Nobody archives here.
func TestCopiedLog(t *testing.T) {
	t.Parallel()
	s := newSite(t, options{durability: protocol.Strict, members: 3, engine: archiving{}})
	s.wait("all to stream", func() bool { return s.primary() != nil && s.whole() })
	p := s.awaitPrimary()
	copied := s.other(p)
	copied.kill()
	if err := os.RemoveAll(filepath.Join(copied.directory, "data")); err != nil {
		t.Fatal(err)
	}
	copied.start()
	for range 40 {
		if _, err := p.ask("dbop", 10*time.Second, "SELECT pg_switch_wal(), txid_current()"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	s.wait("all to stream", s.whole)
	waits := func(m *member) []string {
		files, err := m.client.LogFiles(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return files.Names
	}
	all := waits(p)
	s.wait("the copy to have the log of now", func() bool {
		return slices.Contains(waits(copied), all[len(all)-1])
	})
	there, err := os.ReadDir(filepath.Join(copied.directory, "data", "pgdata", "pg_wal"))
	if err != nil {
		t.Fatal(err)
	}
	offered := waits(copied)
	for _, f := range there {
		if slices.Contains(all, f.Name()) && !slices.Contains(offered, f.Name()) {
			t.Errorf("%s has %s, which nobody archived, and doesn't offer it", copied.id, f.Name())
		}
	}
	t.Logf("the primary keeps %v, the copy %v", all, offered)
}
