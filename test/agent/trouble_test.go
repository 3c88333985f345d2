package agent

import (
	"context"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

type id = protocol.MemberID

// trouble is something that happens to a cluster which is whole. After it the cluster must become whole by itself.
type trouble struct {
	name string
	do   func(*story)
}

// story is a cluster, its clients, and what happens to it.
type story struct {
	*site
	clients *clients
	random  *rand.Rand
	// since is when the present trouble began, on the clock of the clients.
	since time.Duration
	// agreed are hashes of documents that the group agreed on, by index.
	agreed map[uint64]string
}

// replicas are the members besides the primary, in a random order.
func (s *story) replicas(p *member) []*member {
	others := slices.DeleteFunc(slices.Clone(s.members), func(m *member) bool { return m == p })
	s.random.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	return others
}

// leaving waits for a primary other than one, and logs how long no write was acknowledged.
func (s *story) leaving(p *member) {
	s.t.Helper()
	s.wait("another primary than "+string(p.id), func() bool {
		now := s.primary()
		return now != nil && now != p
	})
	s.again()
}

// ended waits for a generation after one.
func (s *story) ended(g protocol.Generation) {
	s.t.Helper()
	s.wait("another generation", func() bool {
		for _, m := range s.members {
			if st := m.status(); st != nil && st.Generation > g && st.Server.Serving {
				return true
			}
		}
		return false
	})
	s.again()
}

// again waits until writes are acknowledged, wherever.
func (s *story) again() {
	s.t.Helper()
	s.clients.flows()
	s.t.Logf("  no write for %s", s.clients.gap(s.since).Truncate(10*time.Millisecond))
}

// cut cuts or mends links between members, both ways.
func (s *story) cut(cut bool, a *member, others ...*member) {
	for _, b := range others {
		s.links[[2]id{a.id, b.id}].set(cut)
		s.links[[2]id{b.id, a.id}].set(cut)
	}
}

func (s *story) mend() {
	for _, l := range s.links {
		l.set(false)
	}
}

// lease is the time after which a primary that renews nothing has stopped.
func (s *story) lease() time.Duration { return s.settings.Timing.Lease }

func troubles() []trouble {
	return []trouble{
		{"the server of the primary is killed", func(s *story) {
			p := s.awaitPrimary()
			g := p.known().Generation
			p.strike(p.first, syscall.SIGKILL)
			s.ended(g)
		}},
		{"the agent of the primary is killed", func(s *story) {
			p := s.awaitPrimary()
			g := p.known().Generation
			p.strike(p.agent, syscall.SIGKILL)
			s.ended(g)
		}},
		{"the guard of the primary is killed", func(s *story) {
			p := s.awaitPrimary()
			_ = p.guard.Process.Kill()
			s.leaving(p)
			p.kill()
			p.start()
		}},
		{"the primary crashes with all of its processes", func(s *story) {
			p := s.awaitPrimary()
			p.kill()
			s.leaving(p)
			p.start()
		}},
		{"the pod of the primary is deleted", func(s *story) {
			p := s.awaitPrimary()
			p.stop()
			s.leaving(p)
			p.start()
		}},
		{"every process of the primary freezes, and goes on", func(s *story) {
			p := s.awaitPrimary()
			p.signal(syscall.SIGSTOP)
			s.leaving(p)
			time.Sleep(time.Duration(s.random.IntN(2000)) * time.Millisecond)
			s.clients.thaw(p)
			p.signal(syscall.SIGCONT)
		}},
		{"the agent of the primary freezes", func(s *story) {
			p := s.awaitPrimary()
			g := p.known().Generation
			p.strike(p.agent, syscall.SIGSTOP)
			s.ended(g)
		}},
		{"the server of the primary freezes", func(s *story) {
			p := s.awaitPrimary()
			_, _, server := p.processes()
			g := p.known().Generation
			for _, pid := range server {
				_ = syscall.Kill(pid, syscall.SIGSTOP)
			}
			s.ended(g)
		}},
		{"the primary is cut off", func(s *story) {
			p := s.awaitPrimary()
			s.cut(true, p, s.replicas(p)...)
			s.leaving(p)
			s.mend()
		}},
		{"the primary is cut off in one direction", func(s *story) {
			p := s.awaitPrimary()
			out := s.random.IntN(2) == 0
			for _, m := range s.replicas(p) {
				if out {
					s.links[[2]id{p.id, m.id}].set(true)
				} else {
					s.links[[2]id{m.id, p.id}].set(true)
				}
			}
			time.Sleep(2 * s.lease())
			s.mend()
			s.again()
		}},
		{"random links are cut", func(s *story) {
			for _, l := range s.links {
				l.set(s.random.IntN(3) == 0)
			}
			time.Sleep(s.lease() + time.Duration(s.random.IntN(3000))*time.Millisecond)
			s.mend()
			s.again()
		}},
		{"a switchover", func(s *story) {
			p := s.awaitPrimary()
			target := s.replicas(p)[0]
			through := s.members[s.random.IntN(len(s.members))]
			if err := s.ask(through, func(ctx context.Context, c *api.Client) error {
				return c.Switchover(ctx, api.Switchover{Target: target.id, Why: "test"})
			}); err != nil {
				s.t.Errorf("switch over from %s to %s, asked of %s: %v", p.id, target.id, through.id, err)
			}
			s.clients.flows()
			if now := s.primary(); now != nil && now != target {
				s.t.Errorf("%s is the primary, not %s", now.id, target.id)
			}
			s.again()
		}},
		{"a replica crashes", func(s *story) {
			m := s.replicas(s.awaitPrimary())[0]
			m.kill()
			s.again()
			m.start()
		}},
		{"the pod of a replica is deleted", func(s *story) {
			m := s.replicas(s.awaitPrimary())[0]
			m.stop()
			s.again()
			m.start()
		}},
		{"both replicas crash", func(s *story) {
			p := s.awaitPrimary()
			others := s.replicas(p)
			for _, m := range others {
				m.kill()
			}
			s.wait("the primary stops accepting writes", func() bool {
				return s.clients.refused(p) && s.primary() == nil
			})
			for _, m := range others {
				m.start()
			}
			s.again()
		}},
		{"all crash and come back in a random order", func(s *story) {
			for _, m := range s.members {
				m.kill()
			}
			for _, i := range s.random.Perm(len(s.members)) {
				s.members[i].start()
				time.Sleep(time.Duration(s.random.IntN(1500)) * time.Millisecond)
			}
			s.again()
		}},
	}
}

// ask sends a request to a member, with time enough.
func (s *story) ask(m *member, do func(context.Context, *api.Client) error) error {
	ctx, stop := context.WithTimeout(context.Background(), 40*time.Second)
	defer stop()
	return do(ctx, m.client)
}
