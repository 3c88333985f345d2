package agent

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// damage writes into the middle of what the server of a member loads when it starts.
func (m *member) damage() {
	t := m.site.t
	t.Helper()
	files, err := filepath.Glob(filepath.Join(m.directory, "data", "db", "appendonlydir", "*.incr.aof"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no append-only file: %v", m.id, err)
	}
	f, err := os.OpenFile(files[len(files)-1], os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		_, err = f.WriteAt([]byte("\x00\xff damaged \xff\x00"), info.Size()/2)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestDamagedValkey: the server of the primary is killed, and can't load its data any more. The others hold all that
// was acknowledged: one of them leads, and the member copies its data.
func TestDamagedValkey(t *testing.T) {
	t.Parallel()
	s := begin(t, options{durability: protocol.Strict, members: 3, engine: valkey{}}, *seedFlag)
	s.make(trouble{"the data of the primary is damaged", func(s *story) {
		p := s.awaitPrimary()
		p.damage()
		p.strike(p.first, syscall.SIGKILL)
		s.leaving(p)
	}})
	s.clients.check(t)
}

// TestCrashesValkey kills the server of the primary whenever its replicas have copied its data. It holds more than any
// of them after each crash; nevertheless another member leads soon.
func TestCrashesValkey(t *testing.T) {
	if !torture() && !*allFlag {
		t.Skip("-all is not set")
	}
	t.Parallel()
	s := begin(t, options{durability: protocol.Strict, members: 3, engine: valkey{}}, *seedFlag)
	s.make(trouble{"the server of the primary crashes again and again", func(s *story) {
		p := s.awaitPrimary()
		for crashes := 1; ; crashes++ {
			g := p.known().Generation
			p.strike(p.first, syscall.SIGKILL)
			s.ended(g)
			if now := s.primary(); now != nil && now != p {
				s.t.Logf("  another one leads after %d crashes", crashes)
				break
			}
			if crashes == 4 {
				s.t.Errorf("%s leads after %d crashes", p.id, crashes)
				break
			}
			s.wait("all to stream from it", s.whole)
		}
		s.again()
	}})
	s.clients.check(t)
}
