package agent

import (
	"context"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// arrivals connect through every agent, several at a time, all the time, and end the session at once.
type arrivals struct {
	stop context.CancelFunc
	all  sync.WaitGroup

	mu     sync.Mutex
	came   int
	errors []string
}

func (s *site) arrive() *arrivals {
	ctx, stop := context.WithCancel(context.Background())
	a := &arrivals{stop: stop}
	for _, m := range slices.Repeat(s.members, 3) {
		a.all.Go(func() {
			for ctx.Err() == nil {
				bound, done := context.WithTimeout(context.Background(), 15*time.Second)
				c, err := m.dialPort(bound, "app", m.clients)
				a.mu.Lock()
				if a.came++; err != nil {
					a.errors = append(a.errors, string(m.id)+": "+err.Error())
				}
				a.mu.Unlock()
				if err == nil {
					_ = c.Close(bound)
				}
				done()
				pause(ctx, 5*time.Millisecond)
			}
		})
	}
	return a
}

func (a *arrivals) end(t *testing.T, what string) {
	t.Helper()
	a.stop()
	a.all.Wait()
	t.Logf("%s: %d connections came, %d failed", what, a.came, len(a.errors))
	if len(a.errors) > 0 {
		t.Errorf("%s: new connections failed: %s", what, strings.Join(a.errors[:min(5, len(a.errors))], "\n"))
	}
}

// TestProxy writes through the agents, through a switchover, a failover, and a primary that is cut off while its guard
// hangs: its server waits for nobody, and its agent, which passes nothing of that, ends it.
func TestProxy(t *testing.T) {
	t.Parallel()
	s := begin(t, options{durability: protocol.Async, members: 3, proxied: true}, 1)
	for _, m := range s.members {
		s.reads(m)
	}
	for range 2 {
		target := s.replicas(s.awaitPrimary())[0]
		arrive := s.arrive()
		s.make(trouble{"a switchover", func(s *story) {
			if err := s.ask(s.awaitPrimary(), func(ctx context.Context, c *api.Client) error {
				return c.Switchover(ctx, api.Switchover{Target: target.id})
			}); err != nil {
				s.t.Fatal(err)
			}
			s.again()
		}})
		arrive.end(t, "a switchover")
	}
	s.make(trouble{"the server of the primary is killed", func(s *story) {
		p := s.awaitPrimary()
		g := p.known().Generation
		p.strike(p.first, syscall.SIGKILL)
		s.ended(g)
	}})
	s.make(trouble{"the primary is cut off and its guard hangs", func(s *story) {
		p := s.awaitPrimary()
		_ = p.guard.Process.Signal(syscall.SIGSTOP)
		s.cut(true, p, s.replicas(p)...)
		s.wait("another primary than "+string(p.id), func() bool {
			for _, m := range s.replicas(p) {
				if st := m.status(); st != nil && st.Server.Serving {
					return true
				}
			}
			return false
		})
		s.again()
		time.Sleep(s.lease())
		if c, err := p.dialPort(t.Context(), "app", p.clients); err == nil {
			_ = c.Close(t.Context())
			t.Error("the agent of a primary that is cut off takes clients")
		}
		if pid := p.first(); pid != 0 {
			t.Errorf("the server of the primary, process %d, outlives the lease", pid)
		}
		s.mend()
		_ = p.guard.Process.Signal(syscall.SIGCONT)
	}})
	for _, m := range s.members {
		s.reads(m)
	}
	s.clients.check(t)
}

// reads holds that the port for readers of a member leads to a replica, once the member has heard of one.
func (s *story) reads(m *member) {
	s.t.Helper()
	ctx, stop := context.WithTimeout(s.t.Context(), 15*time.Second)
	defer stop()
	s.wait("readers of "+string(m.id)+" reach a replica", func() bool {
		c, err := m.dialPort(ctx, "app", m.readers)
		if err != nil {
			s.t.Fatalf("read through %s: %v", m.id, err)
		}
		defer func() { _ = c.Close(ctx) }()
		got, err := c.Exec(ctx, "SELECT pg_is_in_recovery(), count(*) FROM rows").ReadAll()
		if err != nil {
			s.t.Fatalf("read through %s: %v", m.id, err)
		}
		return string(got[0].Rows[0][0]) == "t"
	})
}
