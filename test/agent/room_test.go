package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// fill writes one value again and again at the primary, so many mebibytes in all, and takes it away. What the server
// still has to send counts as its memory: it may refuse a write for a while.
func (s *story) fill(mebibytes int) {
	s.t.Helper()
	ctx, stop := context.WithTimeout(s.t.Context(), time.Minute)
	defer stop()
	c, err := s.engine.dial(ctx, s.awaitPrimary())
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.close()
	do := c.(*redisSession).do
	for wrote := 0; wrote < mebibytes; {
		_, err := do(ctx, "SET", "filler", strings.Repeat("x", 1<<20))
		switch {
		case err == nil:
			wrote++
		case strings.HasPrefix(err.Error(), "OOM"):
			pause(ctx, 20*time.Millisecond)
		default:
			s.t.Fatal(err)
		}
	}
	if _, err := do(ctx, "DEL", "filler"); err != nil {
		s.t.Fatal(err)
	}
}

// TestCopiedAgainValkey has a replica miss more than its primary keeps for it, so that it receives everything again
// while clients write.
func TestCopiedAgainValkey(t *testing.T) {
	t.Parallel()
	s := begin(t, options{durability: protocol.Strict, members: 3, engine: valkey{}}, 1)
	s.make(trouble{"a replica misses much", func(s *story) {
		m := s.replicas(s.awaitPrimary())[0]
		copies := func() int {
			raw, err := os.ReadFile(filepath.Join(s.dir, "log-"+string(m.id)))
			if err != nil {
				s.t.Fatal(err)
			}
			return strings.Count(string(raw), "a copy of the data of")
		}
		before := copies()
		m.kill()
		s.fill(200)
		m.start()
		s.wait(string(m.id)+" receives a copy", func() bool { return copies() > before })
		s.again()
	}})
	s.clients.check(t)
}

// TestDiskFullValkey fills the volume of the primary. It is a small file system in memory, which takes root to mount. A
// server that flushes each write ends then, and another member leads. One that flushes every second goes on, refuses
// writes, and takes them again by itself.
func TestDiskFullValkey(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("it takes root to mount a small volume")
	}
	for _, d := range []protocol.Durability{protocol.Strict, protocol.Preferred} {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			s := begin(t, options{durability: d, members: 3, engine: valkey{}, small: 192 << 20}, 1)
			s.make(trouble{"the disk of the primary is full", (*story).fillDisk})
			if torture() || *allFlag {
				s.make(trouble{"the disk of a replica is full", (*story).fillReplica})
			}
			s.clients.check(t)
		})
	}
}

// filler takes all room on the volume of a member.
type filler struct {
	s    *story
	path string
}

func (f filler) fill() {
	f.s.t.Helper()
	file, err := os.OpenFile(f.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		f.s.t.Fatal(err)
	}
	defer file.Close()
	for err == nil {
		_, err = file.Write(make([]byte, 64<<10))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		f.s.t.Fatal(err)
	}
}

func (f filler) empty() {
	f.s.t.Helper()
	if err := os.Remove(f.path); err != nil {
		f.s.t.Fatal(err)
	}
}

// fillDisk has the primary write into a full volume. The group gives up its ballast, which makes room again at first.
// The agent starts again meanwhile.
func (s *story) fillDisk() {
	p := s.awaitPrimary()
	g := p.known().Generation
	f := filler{s, filepath.Join(p.directory, "filler")}
	if s.options.durability == protocol.Strict {
		s.wait("another primary", func() bool { f.fill(); now := s.primary(); return now != nil && now != p })
		s.again()
	} else {
		s.wait("the primary to refuse writes", func() bool {
			f.fill()
			_, err := s.command(p, "SET", "full", strings.Repeat("x", 64<<10))
			return err != nil && strings.HasPrefix(err.Error(), "MISCONF")
		})
		time.Sleep(s.lease())
		if !p.leads(g) {
			s.t.Errorf("%s does not lead any more:\n%s", p.id, s.describe())
		}
	}
	s.restartFull(f, p)
	f.empty()
	s.again()
}

// restartFull has the agent of a member start on its full volume, and take part in the group.
func (s *story) restartFull(f filler, m *member) {
	before := m.known().Start
	m.strike(m.agent, syscall.SIGKILL)
	s.wait("the agent of "+string(m.id)+" on its full disk", func() bool {
		f.fill()
		st := m.status()
		return st != nil && st.Start > before && st.Quorum
	})
}

// fillReplica has a replica receive what its volume has no room for. Clients write on meanwhile.
func (s *story) fillReplica() {
	p := s.awaitPrimary()
	g := p.known().Generation
	m := s.replicas(p)[0]
	f := filler{s, filepath.Join(m.directory, "filler")}
	s.wait(string(m.id)+" to be out of room", func() bool {
		f.fill()
		_, err := s.command(p, "SET", "full", strings.Repeat("x", 64<<10))
		st := m.status()
		return err == nil && (st == nil || st.Server.Upstream == "")
	})
	for until := time.Now().Add(2 * s.lease()); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		f.fill()
	}
	s.again()
	if !p.leads(g) {
		s.t.Errorf("%s does not lead any more:\n%s", p.id, s.describe())
	}
	f.empty()
}
