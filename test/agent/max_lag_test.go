package agent

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestMaxLagValkey has the primary write more than maxLag while the servers of its replicas are frozen, and then lose
// it. Nobody leads that lacks so much, and nothing is lost once the primary is back.
func TestMaxLagValkey(t *testing.T) {
	if !torture() && !*allFlag {
		t.Skip("-all is not set")
	}
	for _, d := range []protocol.Durability{protocol.Preferred, protocol.Async} {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			s := begin(t, options{durability: d, members: 3, engine: valkey{}}, *seedFlag)
			s.make(trouble{"the primary is lost with more than maxLag", (*story).lag})
			s.clients.check(t)
		})
	}
}

// much is how many mebibytes the primary writes alone. Sockets hold some of them on their way to the replicas.
const much = 200

func (s *story) lag() {
	p := s.awaitPrimary()
	frozen := s.replicas(p)
	for _, m := range frozen {
		m.strike(m.first, syscall.SIGSTOP)
	}
	s.wait("the primary to go on alone", func() bool {
		st := p.status()
		return st != nil && !st.Changing && st.Set.Need == 0
	})
	s.fill(much)
	s.wait("the primary to publish that", func() bool {
		st := p.status()
		return st != nil && st.Server.Serving && st.Server.Position.Offset > much<<20
	})
	time.Sleep(2 * s.settings.Timing.Renewal)
	p.kill()
	acknowledged := s.clients.count()
	for _, m := range frozen {
		m.strike(m.first, syscall.SIGCONT)
	}
	s.wait("the others to say how much they lack", func() bool {
		return slices.ContainsFunc(frozen, func(m *member) bool {
			st := m.status()
			return st != nil && strings.Contains(st.Blocked, "more than maxLag")
		})
	})
	time.Sleep(2 * s.lease())
	if n := s.clients.count() - acknowledged; n > 0 {
		s.t.Errorf("%d rows are acknowledged without the primary", n)
	}
	p.start()
	s.again()
	if now := s.primary(); now != nil && now != p {
		s.t.Errorf("%s leads, which lacks more than maxLag", now.id)
	}
}
