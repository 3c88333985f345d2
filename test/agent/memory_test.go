package agent

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// command asks one member as a client of it does.
func (s *story) command(m *member, args ...string) ([]string, error) {
	ctx, stop := context.WithTimeout(s.t.Context(), 5*time.Second)
	defer stop()
	c, err := valkey{}.dialPort(ctx, m, m.port)
	if err != nil {
		return nil, err
	}
	defer c.close()
	return c.(*redisSession).do(ctx, args...)
}

// full says whether a member refuses writes for want of memory.
func (s *story) full(m *member) bool {
	_, err := s.command(m, "SET", "more", "1")
	return err != nil && strings.HasPrefix(err.Error(), "OOM")
}

// use fills the memory of the primary for good, and returns how many keys do that: what it receives and has to send
// counts as its memory for a while only.
func (s *story) use(keys int) int {
	s.t.Helper()
	const script = "return redis.call('SET', KEYS[1], string.rep('x', 1048576))"
	s.wait("the memory of the primary to be used up", func() bool {
		p := s.primary()
		if p == nil {
			return false
		}
		if _, err := s.command(p, "EVAL", script, "1", "filler-"+strconv.Itoa(keys)); err == nil {
			keys++
			return false
		}
		time.Sleep(time.Second)
		return s.full(p)
	})
	return keys
}

// TestMemoryFullValkey uses up maxmemory where nothing is evicted. Writes are refused and reads go on, nobody fails,
// and a replica that lost its data and a primary that is lost are replaced as always.
func TestMemoryFullValkey(t *testing.T) {
	if !torture() && !*allFlag {
		t.Skip("-all is not set")
	}
	t.Parallel()
	s := begin(t, options{durability: protocol.Strict, members: 3, engine: valkey{}}, *seedFlag)
	var keys int
	// holds uses up what is left, and reads at every member.
	holds := func() {
		t.Helper()
		keys = s.use(keys)
		for _, m := range s.members {
			s.wait("reads of "+string(m.id), func() bool {
				got, err := s.command(m, "EXISTS", "filler-0", "filler-"+strconv.Itoa(keys-1), "rows")
				return err == nil && got[0] == "3"
			})
		}
	}
	s.make(trouble{"the memory is used up", func(s *story) {
		p := s.awaitPrimary()
		g := p.known().Generation
		holds()
		time.Sleep(2 * s.lease())
		if !p.leads(g) || !s.full(p) {
			t.Errorf("%s does not lead any more, or takes writes, although nothing happened:\n%s", p.id, s.describe())
		}
	}})
	s.make(trouble{"a replica crashes, and copies all data", func(s *story) {
		m := s.replicas(s.awaitPrimary())[0]
		m.kill()
		m.start()
		s.wait("whole again", s.whole)
		holds()
	}})
	s.make(trouble{"the primary is lost", func(s *story) {
		p := s.awaitPrimary()
		p.kill()
		s.wait("another primary than "+string(p.id), func() bool { now := s.primary(); return now != nil && now != p })
		s.t.Logf("  another primary after %s", time.Since(s.clients.began)-s.since)
		p.start()
		s.wait("whole again", s.whole)
		holds()
	}})
	s.make(trouble{"there is room", func(s *story) {
		for k := range keys {
			if _, err := s.command(s.awaitPrimary(), "DEL", "filler-"+strconv.Itoa(k)); err != nil {
				t.Fatal(err)
			}
		}
		s.again()
	}})
	s.clients.check(t)
}
