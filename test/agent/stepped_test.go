package agent

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

const (
	day  = 24 * time.Hour
	year = 365 * day
)

// wrong are by how much a clock may be wrong. The last one takes it back to 1970.
func wrong() []time.Duration {
	return []time.Duration{
		2 * year, time.Hour, -time.Hour, 30 * time.Second, -30 * time.Second, 0,
		day - time.Duration(time.Now().Unix())*time.Second,
	}
}

// step sets the wall clock of a member, of its server alone where the agent is the usual one.
func (s *story) step(m *member) {
	s.t.Helper()
	all := wrong()
	to := all[s.random.IntN(len(all))]
	for to == m.clock.wall {
		to = all[s.random.IntN(len(all))]
	}
	s.t.Logf("  the clock of %s goes from %s to %s", m.id, m.clock.wall, to)
	m.clock.set(s.t, to, m.clock.boot)
	if _, asks := s.engine.(postgres); !asks || m.guard == nil {
		return
	}
	s.wait("another time at "+string(m.id), func() bool {
		got, err := m.ask("dbop", time.Second,
			"SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')")
		if err != nil {
			return false
		}
		now, err := time.Parse(time.DateTime, got[0][0])
		return err == nil && (time.Until(now)-to).Abs() < 5*time.Second
	})
}

// calmly does something that must not cost the primary its lease, and clients no more than a moment.
func (s *story) calmly(do func(p *member)) {
	s.t.Helper()
	p := s.awaitPrimary()
	g := p.known().Generation
	since := time.Since(s.clients.began)
	do(p)
	time.Sleep(s.settings.Timing.Lease)
	s.clients.flows()
	if !p.leads(g) {
		s.t.Errorf("%s does not lead any more:\n%s", p.id, s.describe())
	}
	if gap := s.clients.gap(since); gap > s.settings.Timing.Lease {
		s.t.Errorf("no write for %s", gap)
	}
}

// TestClocks runs members whose clocks differ by years and are stepped: two years ahead, and to 1970. No primary is
// replaced for that, and all else goes on as ever: failover, and after a restart of all the last primary leads.
func TestClocks(t *testing.T) { stepClocks(t, postgres{}) }

// TestClocksValkey does the same with Valkey or Redis.
func TestClocksValkey(t *testing.T) {
	if !torture() && !*allFlag {
		t.Skip("-all is not set")
	}
	stepClocks(t, valkey{})
}

func stepClocks(t *testing.T, e engine) {
	t.Parallel()
	s := begin(t, options{durability: protocol.Strict, members: 3, engine: e, clocks: true}, *seedFlag)
	steps, restarts := 1, 1
	if torture() || *allFlag {
		steps, restarts = 6, 6
	}
	for range steps {
		s.make(trouble{"clocks are stepped", func(s *story) {
			s.calmly(func(p *member) { s.step(p) })
			s.calmly(func(p *member) { s.step(s.replicas(p)[0]) })
		}})
	}
	s.make(trouble{"the server of the primary is killed", func(s *story) {
		p := s.awaitPrimary()
		g := p.known().Generation
		p.strike(p.first, syscall.SIGKILL)
		s.ended(g)
	}})
	for range restarts {
		s.make(trouble{"all crash, and come back with other clocks", (*story).restartWrong})
	}
	if s.members[0].clock.boots && !slices.ContainsFunc(s.members, func(m *member) bool {
		raw, _ := os.ReadFile(filepath.Join(s.dir, "log-"+string(m.id)))
		return strings.Contains(string(raw), "is not valid now")
	}) {
		t.Error("no agent calls a certificate invalid: their clocks are right, and this shows nothing")
	}
	s.clients.check(t)
}

// restartWrong ends all members, and brings them back in a random order, with other clocks.
func (s *story) restartWrong() {
	first := s.awaitPrimary()
	for _, m := range s.members {
		m.kill()
	}
	for _, i := range s.random.Perm(len(s.members)) {
		m := s.members[i]
		s.step(m)
		if m.clock.boots { // as after a start of the machine
			m.clock.set(s.t, m.clock.wall, time.Duration(s.random.Int64N(math.MaxInt32))*time.Second)
		}
		m.start()
		time.Sleep(time.Duration(s.random.IntN(500)) * time.Millisecond)
	}
	s.again()
	if now := s.awaitPrimary(); now != first {
		s.t.Errorf("%s leads after the restart, not %s, which led before", now.id, first.id)
	}
}
