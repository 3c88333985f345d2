//go:build linux

// Package proxy passes clients to the database server of the primary, or of a replica, from any member. It passes
// bytes: the server speaks its own TLS. It never passes an answer of a primary whose lease is over.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/lookup"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/pulse"
)

// Config is what a proxy needs of the agent.
type Config struct {
	Member protocol.MemberID
	// Listen takes clients of the primary, ReadOnly those that a replica may serve. Either may be "".
	Listen, ReadOnly string
	// Address is where the database server of a member listens for clients.
	Address func(protocol.MemberID) string
	// Leader returns the leader of the group that this member hears, or "".
	Leader func() protocol.MemberID
	// Now reads CLOCK_BOOTTIME.
	Now func() protocol.Instant
	// Report takes what a person should know.
	Report func(string)
	// Busy, if set, is told when clients begin to speak, and when all of them are silent for a while. It holds up all
	// of them.
	Busy func(bool)
}

const (
	// holdTime is how long a new connection waits for a server.
	holdTime = 10 * time.Second
	// dialTime bounds one attempt to reach a server, dialPause is between two of them.
	dialTime  = 2 * time.Second
	dialPause = 50 * time.Millisecond
	// leaderInterval is how often the proxy asks for the leader of the group.
	leaderInterval = time.Second
	// closeTime is how long before its deadline a primary lets go of all clients. The guard kills the agent then, and a
	// killed process keeps its connections for as long as a disk that hangs holds one of its threads.
	closeTime = 250 * time.Millisecond
)

// Proxy takes connections of clients.
type Proxy struct {
	config Config
	relay  *relay
	hold   time.Duration
	route  atomic.Pointer[protocol.Route]
	// apart says that the group was lost for a lease, or never heard.
	apart atomic.Bool
	next  atomic.Uint32

	mu sync.Mutex
	// moved is closed when the route changes.
	moved chan struct{}
	ports []*port
}

// Open prepares a proxy. Run listens.
func Open(c Config) (*Proxy, error) {
	r, err := newRelay(c.Busy)
	if err != nil {
		return nil, err
	}
	p := &Proxy{config: c, relay: r, hold: holdTime, moved: make(chan struct{})}
	p.route.Store(&protocol.Route{})
	p.apart.Store(true) // until a leader is heard
	for _, o := range []*port{{address: c.Listen}, {address: c.ReadOnly, readOnly: true}} {
		if o.address != "" {
			p.ports = append(p.ports, o)
		}
	}
	return p, nil
}

// Set takes the present route. It never waits.
func (p *Proxy) Set(r protocol.Route) {
	before := p.route.Swap(&r)
	if before.Same(r) {
		return
	}
	p.mu.Lock()
	close(p.moved)
	p.moved = make(chan struct{})
	p.mu.Unlock()
	p.relay.prune()
}

// Run listens until the context is done, while the group is there.
func (p *Proxy) Run(ctx context.Context) error {
	defer p.relay.close()
	defer p.shut()
	if len(p.ports) == 0 {
		<-ctx.Done()
		return nil
	}
	timer := time.NewTimer(leaderInterval)
	defer timer.Stop()
	var heard protocol.Instant
	for {
		now, why := p.config.Now(), ""
		left := p.left(now)
		switch leader := p.config.Leader(); {
		case left <= 0:
			why = "the lease of this primary ends"
		case leader != "":
			heard = now
		case now.Sub(heard) >= p.route.Load().Lease:
			why = "the group is lost for a lease"
		}
		apart := why != ""
		if p.apart.Swap(apart) != apart && apart {
			p.config.Report(why + ": the ports for clients close")
			p.shut()
		}
		if !apart {
			if err := p.open(); err != nil {
				return err
			}
		}
		// A lease that ends says nothing.
		p.relay.prune()
		if next := pulse.Next(leaderInterval); left > 0 {
			timer.Reset(min(left, next))
		} else {
			timer.Reset(next)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
	}
}

// left is for how long this member keeps its clients if its lease is not renewed. Who has no lease has none to lose.
func (p *Proxy) left(now protocol.Instant) time.Duration {
	if r := p.route.Load(); r.Primary == p.config.Member && r.Until > 0 {
		return r.Until.Sub(now) - closeTime
	}
	return math.MaxInt64
}

// permit says whether what a server answers may be passed on: the primary of a generation under its lease, or else a
// member that is no primary.
func (p *Proxy) permit(to protocol.MemberID, g protocol.Generation) bool {
	r := p.route.Load()
	switch {
	case p.apart.Load():
		return false
	case g == 0:
		return r.Primary != to
	}
	return r.Primary == to && r.Generation == g && p.config.Now() < r.Until
}

// connect finds a server for a client, and waits for one if there is none.
func (p *Proxy) connect(ctx context.Context, client *net.TCPConn, readOnly bool) {
	ctx, stop := context.WithTimeout(ctx, p.hold)
	defer stop()
	for {
		p.mu.Lock()
		moved := p.moved
		p.mu.Unlock()
		to, g := p.target(readOnly)
		var again <-chan time.Time
		if to != "" {
			if p.pass(ctx, client, to, g) {
				return
			}
			again = time.After(dialPause)
		}
		select {
		case <-moved:
		case <-again:
		case <-ctx.Done():
			_ = client.Close()
			return
		}
	}
}

// target chooses a member, with the generation if it is the primary. Replicas come before the primary where either
// will do, and the server beside this agent comes before others.
func (p *Proxy) target(readOnly bool) (protocol.MemberID, protocol.Generation) {
	r := p.route.Load()
	if n := len(r.Replicas); readOnly && n > 0 {
		for _, id := range r.Replicas {
			if id == p.config.Member {
				return id, 0
			}
		}
		return r.Replicas[int(p.next.Add(1))%n], 0
	}
	if r.Hold || p.config.Now() >= r.Until {
		return "", 0
	}
	return r.Primary, r.Generation
}

// pass connects a client with a server. It says whether the client is taken care of.
func (p *Proxy) pass(ctx context.Context, client *net.TCPConn, to protocol.MemberID, g protocol.Generation) bool {
	ctx, stop := context.WithTimeout(ctx, dialTime)
	defer stop()
	addresses, err := lookup.Addresses(ctx, p.config.Address(to))
	if err != nil {
		return false
	}
	server, err := lookup.Dial(ctx, &net.Dialer{}, addresses)
	if err != nil {
		return false
	}
	if r := p.route.Load(); !p.permit(to, g) || g > 0 && r.Hold {
		_ = server.Close()
		return false
	}
	if err := p.relay.add(client, server.(*net.TCPConn), func() bool { return p.permit(to, g) }); err != nil {
		p.config.Report(err.Error())
	}
	return true
}

// port is one place where clients connect to.
type port struct {
	address  string
	readOnly bool
	listener net.Listener
	stop     context.CancelFunc
}

// open listens at the ports that are closed.
func (p *Proxy) open() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.ports {
		if o.listener != nil {
			continue
		}
		var err error
		if o.listener, err = net.Listen("tcp", o.address); err != nil {
			return fmt.Errorf("listen for clients: %w", err)
		}
		var ctx context.Context
		ctx, o.stop = context.WithCancel(context.Background())
		go p.serve(ctx, o.listener, o.readOnly)
	}
	return nil
}

func (p *Proxy) serve(ctx context.Context, l net.Listener, readOnly bool) {
	for {
		c, err := l.Accept()
		switch {
		case err == nil:
			go p.connect(ctx, c.(*net.TCPConn), readOnly)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			select { // out of descriptors, for example
			case <-ctx.Done():
				return
			case <-time.After(dialPause):
			}
		}
	}
}

// shut closes the ports and ends all connections, those that wait included.
func (p *Proxy) shut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.ports {
		if o.listener != nil {
			_ = o.listener.Close()
			o.stop()
			o.listener = nil
		}
	}
	p.relay.prune()
}
