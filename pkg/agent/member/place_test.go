package member

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// place is a member: its server is the driver, and lives on when the agent dies.
type place struct {
	cluster *cluster
	id      protocol.MemberID
	start   uint64
	member  *Member
	stop    context.CancelFunc
	ended   chan struct{}

	server   protocol.Server
	rows     []row
	timeline uint64
	deadline protocol.SetDeadline
	// fails is why no job succeeds.
	fails error
}

// Observe tells the state of the server.
func (p *place) Observe(context.Context) protocol.Server {
	p.cluster.mu.Lock()
	defer p.cluster.mu.Unlock()
	s := p.server
	s.Position = protocol.Position{Timeline: p.timeline, Offset: uint64(len(p.rows))}
	if s.Role == protocol.Primary {
		s.Flushed = p.cluster.now()
		for _, id := range []protocol.MemberID{"m1", "m2", "m3"} {
			if r := p.cluster.members[id]; r.server.Upstream == p.id && r.server.Generation == s.Generation {
				s.Standbys = append(s.Standbys, protocol.Streaming{
					Standby: protocol.Standby{Member: id, Volume: r.server.Volume}, Flushed: uint64(len(r.rows)),
				})
			}
		}
	}
	return s
}

// Changed leaves it to the ticks.
func (p *place) Changed() <-chan struct{} { return nil }

// Do performs a job; each takes a while.
func (p *place) Do(ctx context.Context, job protocol.Job, valid func() bool) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(50 * time.Millisecond):
	}
	may := valid()
	p.cluster.mu.Lock()
	defer p.cluster.mu.Unlock()
	s := &p.server
	if p.fails != nil {
		return p.fails
	}
	switch job.Kind {
	case protocol.Initialise:
		s.System, s.Volume = "system", "volume of "+string(p.id)
	case protocol.Clone, protocol.Follow:
		up := p.cluster.members[job.Member]
		if up.server.Role != protocol.Primary || up.server.Generation != job.Generation || job.Generation < s.Floor {
			return fmt.Errorf("%s is no primary of generation %d", job.Member, job.Generation)
		}
		s.System, s.Volume = up.server.System, "volume of "+string(p.id)
		p.rows, p.timeline = slices.Clone(up.rows), up.timeline
		if job.Kind == protocol.Follow {
			s.Role, s.Upstream, s.Generation = protocol.Replica, job.Member, job.Generation
		}
	case protocol.Cut:
		s.Floor = max(s.Floor, job.Generation)
		s.Upstream, s.Generation, s.Role = "", 0, protocol.Stopped
	case protocol.Read:
		s.Role = protocol.Replica
	case protocol.Promote:
		if !may {
			return errors.New("the lease is over")
		}
		s.Role, s.Generation, s.Upstream, s.Set = protocol.Primary, job.Generation, "", job.Set.Version
		p.timeline = job.Timeline
	case protocol.Load:
		s.Set, s.SetAt = job.Set.Version, uint64(len(p.rows))
	case protocol.StopFast, protocol.StopNow:
		s.Role, s.Generation, s.Upstream = protocol.Stopped, 0, ""
	}
	return nil
}

// Set keeps the deadline, as a guard does.
func (p *place) Set(d protocol.SetDeadline) error {
	p.cluster.mu.Lock()
	defer p.cluster.mu.Unlock()
	p.deadline = d
	return nil
}

// Propose agrees at once.
func (p *place) Propose(e protocol.Entry) {
	p.cluster.mu.Lock()
	defer p.cluster.mu.Unlock()
	p.cluster.log = append(p.cluster.log, e)
	for _, o := range p.cluster.members {
		if o.member != nil {
			o.member.Deliver(protocol.Applied{Index: uint64(len(p.cluster.log)), Entry: e})
		}
	}
}

func (p *place) GiveVote(protocol.MemberID) {}

func (p *place) TakeVote(protocol.MemberID) {}

func (p *place) StepDown() {}

// Tell tells the others the position.
func (p *place) Tell(told protocol.Told) {
	p.cluster.mu.Lock()
	defer p.cluster.mu.Unlock()
	for _, o := range p.cluster.members {
		if o != p && o.member != nil {
			o.member.Deliver(protocol.Received{Member: p.id, Told: told})
			o.member.Deliver(protocol.Contact{Present: []protocol.MemberID{p.id}})
		}
	}
}

// boot starts an agent, with the whole log to apply.
func (p *place) boot(found *protocol.Found) {
	c := p.cluster
	c.mu.Lock()
	p.start++
	m := &Member{Group: p, Server: p, Guard: p, Now: c.now, Report: func(s string) { c.t.Log(p.id, s) }}
	p.member = m
	node := protocol.New(protocol.Config{
		ID: p.id, Found: found, Start: p.start, LastIndex: uint64(len(c.log)), Now: c.now(),
	})
	for i, e := range c.log {
		m.Deliver(protocol.Applied{Index: uint64(i + 1), Entry: e})
	}
	c.mu.Unlock()
	ctx, stop := context.WithCancel(c.t.Context())
	p.stop, p.ended = stop, make(chan struct{})
	go func() {
		defer close(p.ended)
		if err := m.Run(ctx, node); err != nil {
			c.t.Error(err)
		}
	}()
}

// kill ends agent and server, as the guard does.
func (p *place) kill() {
	p.cluster.mu.Lock()
	p.member = nil
	p.cluster.mu.Unlock()
	p.stop()
	<-p.ended
	p.cluster.mu.Lock()
	defer p.cluster.mu.Unlock()
	p.server.Role, p.server.Upstream, p.server.Generation = protocol.Stopped, "", 0
}
