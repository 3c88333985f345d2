package agent

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// roomy is Valkey or Redis with more memory.
type roomy struct{ valkey }

func (roomy) values() map[string]string { return map[string]string{"maxmemory": "2gb"} }

// pump writes values of 64 KiB at the primary as fast as it takes them, until the context is done.
func (s *story) pump(ctx context.Context, wrote *atomic.Int64) {
	value := make([]byte, 64<<10)
	for ctx.Err() == nil {
		p := s.primary()
		if p == nil {
			pause(ctx, 20*time.Millisecond)
			continue
		}
		c, err := valkey{}.dialPort(ctx, p, p.port)
		if err != nil {
			pause(ctx, 20*time.Millisecond)
			continue
		}
		for err == nil && ctx.Err() == nil {
			for i := 0; i < len(value); i += 8 {
				n := rand.Uint64()
				for b := range 8 {
					value[i+b] = byte(n >> (8 * b))
				}
			}
			trying, stop := context.WithTimeout(ctx, 5*time.Second)
			_, err = c.(*redisSession).do(trying, "SET", "hot-"+strconv.Itoa(rand.IntN(500)), string(value))
			stop()
			if err == nil {
				wrote.Add(int64(len(value)))
			}
		}
		c.close()
	}
}

// copies counts how often a member received all data.
func (m *member) copies() int {
	raw, err := os.ReadFile(filepath.Join(m.site.dir, "log-"+string(m.id)))
	if err != nil {
		m.site.t.Fatal(err)
	}
	return strings.Count(string(raw), "all data of")
}

// TestResyncValkey has replicas receive some hundred megabytes again while clients write as much as the server takes.
// It takes one attempt, and the primary goes on meanwhile.
func TestResyncValkey(t *testing.T) {
	if !torture() && !*allFlag {
		t.Skip("-all is not set")
	}
	t.Parallel()
	s := begin(t, options{durability: protocol.Strict, members: 3, engine: roomy{}}, *seedFlag)
	p := s.awaitPrimary()
	const script = "return redis.call('SET', KEYS[1], string.rep(KEYS[1], 100000))"
	for n := range 500 {
		s.wait("the database to grow", func() bool {
			_, err := s.command(p, "EVAL", script, "1", "cold-"+strconv.Itoa(100000+n))
			return err == nil
		})
	}
	var wrote atomic.Int64
	ctx, rest := context.WithCancel(t.Context())
	var pumping sync.WaitGroup
	pumping.Go(func() { s.pump(ctx, &wrote) })
	s.wait("all to be fast", s.whole)
	g := p.known().Generation
	m := s.replicas(p)[0]
	s.make(trouble{"a replica misses much", func(s *story) {
		m.kill()
		before := wrote.Load()
		s.wait("more writes than the primary keeps", func() bool { return wrote.Load() > before+100<<20 })
		copies := m.copies()
		began := time.Now()
		before = wrote.Load()
		m.start()
		s.wait(string(m.id)+" streams", s.whole)
		took := time.Since(began)
		t.Logf("  a copy took %s while %d MB were written", took, (wrote.Load()-before)>>20)
		if n := m.copies() - copies; n > 1 {
			t.Errorf("%s receives all data %d times", m.id, n)
		}
		s.again()
		if !p.leads(g) {
			t.Errorf("%s does not lead any more:\n%s", p.id, s.describe())
		}
		if gap := s.clients.gap(s.since); gap > 5*time.Second {
			t.Errorf("nothing was acknowledged for %s", gap)
		}
	}})
	rest()
	pumping.Wait()
	s.clients.check(t)
}
