package group

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/lookup"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// network is the network of the group: mutual TLS, and a hello on each connection before its first message.
type network struct {
	id       protocol.MemberID
	listener net.Listener
	tls      *tls.Config
	peers    *peers
	hello    func() hello
	address  func(protocol.MemberID) string
	find     func(ctx context.Context, address string) ([]string, error)
	report   func(string)

	accepted chan net.Conn
	messages func(hello, net.Conn)
	// removed reports whether a member was removed for good: it may ask for nothing any more, whatever certificate it has.
	removed func(protocol.MemberID) bool
	// handlers take connections for other purposes.
	handlers map[Purpose]func(protocol.MemberID, net.Conn)
	done     chan struct{}
	once     sync.Once

	mu sync.Mutex
	// left says that the disk stalls: nothing passes until it works again.
	left  bool
	conns map[net.Conn]bool
}

var _ raft.StreamLayer = (*network)(nil)

var errLeft = errors.New("the disk of this member stalls: it left the network of the group until the disk works again")

// serve takes connections until the network is closed.
func (n *network) serve() {
	for {
		c, err := n.listener.Accept()
		if err != nil {
			select {
			case <-n.done:
				return
			case <-time.After(50 * time.Millisecond): // out of descriptors, for example
				continue
			}
		}
		go n.take(c)
	}
}

// take proves a connection that came in, and hands it on.
func (n *network) take(raw net.Conn) {
	c := tls.Server(raw, n.tls)
	h, err := n.prove(c, "", "")
	if err != nil {
		_ = c.Close()
		if !errors.Is(err, errLeft) {
			host, _, _ := net.SplitHostPort(raw.RemoteAddr().String()) // the port is another one each time
			n.report(fmt.Sprintf("refused a connection from %s: %v", host, err))
		}
		return
	}
	if h.Purpose != forRaft && n.removed(h.ID) {
		_ = c.Close()
		n.report(fmt.Sprintf("refused a connection from %s, which was removed from the cluster", h.ID))
		return
	}
	wrapped := n.track(c)
	if h.Purpose == forMessages {
		n.messages(h, wrapped)
		return
	}
	if h.Purpose != forRaft {
		if handle := n.handlers[h.Purpose]; handle != nil {
			handle(h.ID, wrapped)
		}
		_ = wrapped.Close()
		return
	}
	select {
	case n.accepted <- wrapped:
	case <-n.done:
		_ = wrapped.Close()
	}
}

// Accept returns the next connection for raft.
func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.accepted:
		return c, nil
	case <-n.done:
		return nil, net.ErrClosed
	}
}

// Close ends the network. Raft closes it too.
func (n *network) Close() error {
	var err error
	n.once.Do(func() {
		close(n.done)
		n.drop()
		err = n.listener.Close()
	})
	return err
}

// Addr returns the address of this member in the group, which is its ID. The library tells candidates and leaders apart
// by their address alone: a voter repeats its vote of a term for another candidate that has the same one (requestVote
// of hashicorp/raft v1.7.3). Members in pods listen on all addresses at one port: a term could have had two leaders.
func (n *network) Addr() net.Addr { return identity(n.id) }

// identity is the address of a member in the group.
type identity protocol.MemberID

// Network implements net.Addr.
func (identity) Network() string { return "group" }

func (i identity) String() string { return string(i) }

// Dial connects to a member by its ID: that is its address in the group.
func (n *network) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	return n.dial(protocol.MemberID(address), forRaft, timeout)
}

// dial connects to a member and proves it.
func (n *network) dial(id protocol.MemberID, p Purpose, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var dialer net.Dialer
	if p == forMessages || p == forRaft { // who streams may take nothing for a while
		dialer.Control = unanswered
	}
	raw, err := n.reach(ctx, &dialer, id, timeout)
	if err != nil {
		return nil, fmt.Errorf("connect to member %s: %w", id, err)
	}
	c := tls.Client(raw, n.tls)
	if _, err := n.prove(c, id, p); err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("connect to member %s: %w", id, err)
	}
	return n.track(c), nil
}

// reach asks DNS first, and takes the address where the member proved itself last if there is no answer in half of the
// time, or none at all. The other side is proved anyway.
func (n *network) reach(ctx context.Context, d *net.Dialer, id protocol.MemberID, timeout time.Duration) (net.Conn,
	error,
) {
	asking, last := ctx, n.peers.address(id)
	if last != "" {
		half, stop := context.WithTimeout(ctx, timeout/2)
		defer stop()
		asking = half
	}
	addresses, err := n.find(asking, n.address(id))
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && last != "":
		addresses = []string{last}
	case err != nil:
		return nil, err
	}
	return lookup.Dial(ctx, d, addresses)
}
