package agent

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// freeze stops processes of the primary for a while.
type freeze struct {
	name string
	// what are the processes.
	what func(*member) []int
	// stays says that the same member leads on: they go on soon.
	stays bool
	// exempt says that the server outlives its lease, since nobody is there who could end it.
	exempt bool
}

func guardOf(m *member) []int { return []int{m.guard.Process.Pid} }

func agentOf(m *member) []int { return []int{m.agent()} }

func serverOf(m *member) []int {
	_, _, server := m.processes()
	return server
}

func freezes() []freeze {
	return []freeze{
		{name: "guard", what: guardOf},
		{name: "guard and agent", what: func(m *member) []int { return append(guardOf(m), agentOf(m)...) }, exempt: true},
		{name: "agent, shortly", what: agentOf, stays: true},
		{name: "guard, shortly", what: guardOf, stays: true},
		{name: "server, shortly", what: serverOf, stays: true},
	}
}

// freeze stops the processes, and has them go on.
func (s *story) freeze(f freeze) {
	s.t.Helper()
	p := s.awaitPrimary()
	g := p.known().Generation
	stopped := f.what(p)
	for _, pid := range stopped {
		if pid == 0 || syscall.Kill(pid, syscall.SIGSTOP) != nil {
			s.t.Fatalf("a process of %s is gone", p.id)
		}
	}
	if f.stays {
		time.Sleep(s.settings.Timing.Renewal)
	} else {
		s.wait("another generation", func() bool {
			for _, m := range s.replicas(p) {
				if st := m.status(); st != nil && st.Generation > g && st.Phase == protocol.Serving {
					return true
				}
			}
			return false
		})
		s.again()
		time.Sleep(s.lease() + time.Duration(s.random.IntN(2000))*time.Millisecond)
		if _, _, server := p.processes(); f.exempt != (len(server) > 0) {
			s.t.Errorf("of the server of %s, whose lease is over, %d processes are left", p.id, len(server))
		}
	}
	if f.exempt {
		s.clients.thaw(p)
	}
	for _, pid := range stopped {
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
	s.again()
	if f.stays && !p.leads(g) {
		s.t.Errorf("%s does not lead any more:\n%s", p.id, s.describe())
	}
}

// TestFreezes stops guard, agent and server of the primary, alone and as a pair, while clients write, and has them go
// on. Nobody acknowledges beside another member. That guard and agent stop and the server does not is exempt: then
// nothing is lost where writes wait for standbys.
func TestFreezes(t *testing.T) {
	durabilities := []protocol.Durability{protocol.Strict, protocol.Preferred, protocol.Async}
	all := freezes()
	if !torture() && !*allFlag {
		durabilities = durabilities[:1]
		all = slices.DeleteFunc(all, func(f freeze) bool { return f.exempt })
	}
	for _, d := range durabilities {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			s := begin(t, options{durability: d, members: 3}, *seedFlag)
			for _, f := range all {
				if f.exempt && d == protocol.Async {
					continue // what the old server acknowledges meanwhile is lost, as the documentation says
				}
				s.make(trouble{fmt.Sprintf("freeze: %s", f.name), func(s *story) { s.freeze(f) }})
			}
			s.make(trouble{"somebody has the server end once its sessions do", (*story).waits})
			s.clients.check(t)
		})
	}
}

// waits asks the server of the primary to end once all sessions have: it lets nobody in, and those that are in could go
// on for ever. It is replaced as one that was killed: nobody waits for its lease to end.
func (s *story) waits() {
	s.t.Helper()
	p := s.awaitPrimary()
	g := p.known().Generation
	open, err := p.dial(s.t.Context(), "app")
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = open.Close(context.Background()) }() // the server ended it
	p.strike(p.first, syscall.SIGTERM)
	s.ended(g)
	if gap := s.clients.gap(s.since); gap > s.lease() {
		s.t.Errorf("no write was acknowledged for %s, more than a lease", gap)
	}
}
