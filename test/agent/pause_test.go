package agent

import (
	"syscall"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// pause stops every process of the primary for three leases, as a machine that is suspended does. With hidden its
// clocks show nothing of that, and it hears of nobody afterwards.
func (s *story) pause(hidden bool) {
	s.t.Helper()
	p := s.awaitPrimary()
	began := time.Now()
	p.signal(syscall.SIGSTOP)
	if hidden {
		s.cut(true, p, s.replicas(p)...)
	}
	s.leaving(p)
	time.Sleep(time.Until(began.Add(3 * s.lease())))
	if hidden {
		lost := time.Since(began)
		p.clock.set(s.t, p.clock.wall-lost, p.clock.boot-lost)
	}
	thawed := time.Since(s.clients.began)
	s.clients.thaw(p)
	p.signal(syscall.SIGCONT)
	time.Sleep(300 * time.Millisecond)
	if hidden && p.first() == 0 {
		s.t.Error("the guard noticed the pause: this shows nothing")
	}
	time.Sleep(s.lease())
	s.t.Logf("  %d rows acknowledged late", s.clients.lately(p, thawed))
	s.mend()
	s.again()
}

// lately counts the rows that a member acknowledged within a lease from a moment on.
func (c *clients) lately(m *member, from time.Duration) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.acked {
		if r.member == m.id && r.end > from && r.end < from+c.site.settings.Timing.Lease {
			n++
		}
	}
	return n
}

// TestPauses suspends the primary while clients send rows ahead of the answers. What was on its way to it is not
// acknowledged any more once another member leads, even where the clocks of the machine hide the pause.
func TestPauses(t *testing.T) {
	if !torture() && !*allFlag {
		t.Skip("-all is not set")
	}
	for _, d := range []protocol.Durability{protocol.Strict, protocol.Preferred, protocol.Async} {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			s := begin(t, options{durability: d, members: 3, clocks: true, pipelined: true}, *seedFlag)
			for range 3 {
				s.make(trouble{"the primary is suspended", func(s *story) { s.pause(false) }})
				if d == protocol.Strict {
					s.make(trouble{"the primary is suspended, and its clocks hide it", func(s *story) { s.pause(true) }})
				}
			}
			s.clients.check(t)
		})
	}
}
