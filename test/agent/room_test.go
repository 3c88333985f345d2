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
	c, err := s.engine.dial(ctx, s.primary())
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
		m := s.replicas(s.primary())[0]
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

// TestDiskFullValkey fills the volume of the primary. It is a small file system in memory, which takes root to mount.
func TestDiskFullValkey(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("it takes root to mount a small volume")
	}
	s := begin(t, options{durability: protocol.Strict, members: 3, engine: valkey{}, small: 192 << 20}, 1)
	s.make(trouble{"the disk of the primary is full", func(s *story) {
		p := s.primary()
		path := filepath.Join(p.directory, "filler")
		f, err := os.Create(path)
		if err != nil {
			s.t.Fatal(err)
		}
		defer f.Close()
		// The group gives up its ballast then, which makes room again.
		s.wait("the primary takes no write, or is none", func() bool {
			var err error
			for err == nil {
				_, err = f.Write(make([]byte, 64<<10))
			}
			if !errors.Is(err, syscall.ENOSPC) {
				s.t.Fatal(err)
			}
			return s.clients.refused(p)
		})
		time.Sleep(2 * time.Second)
		if err := os.Remove(path); err != nil {
			s.t.Fatal(err)
		}
		s.again()
	}})
	s.clients.check(t)
}
