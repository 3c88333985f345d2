package group

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// network is the network of the group: mutual TLS, and a hello on each connection before its first message.
type network struct {
	listener net.Listener
	tls      *tls.Config
	peers    *peers
	hello    func() hello
	address  func(protocol.MemberID) string
	report   func(string)

	accepted chan net.Conn
	messages func(hello, net.Conn)
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

// helloTimeout bounds a handshake.
const helloTimeout = 2 * time.Second

// memberTLS accepts peers by authority and name. A certificate that expired is accepted and reported: clocks may be
// wrong, and an outage would be worse. The certificate of the other side is checked in the handshake, before the hello.
func memberTLS(own tls.Certificate, authority *x509.CertPool, report func(string)) *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS13, ClientAuth: tls.RequireAnyClientCert,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection does it, with another idea of the time
		VerifyConnection: func(c tls.ConnectionState) error {
			leaf := c.PeerCertificates[0]
			options := x509.VerifyOptions{
				Roots: authority, Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
			}
			for _, i := range c.PeerCertificates[1:] {
				options.Intermediates.AddCert(i)
			}
			_, err := leaf.Verify(options)
			var invalid x509.CertificateInvalidError
			if errors.As(err, &invalid) && invalid.Reason == x509.Expired {
				report(fmt.Sprintf("the certificate of %s is not valid now: it is from %s until %s", leaf.Subject.CommonName,
					leaf.NotBefore.Format(time.DateOnly), leaf.NotAfter.Format(time.DateOnly)))
				options.CurrentTime = leaf.NotBefore.Add(time.Second)
				_, err = leaf.Verify(options)
			}
			return err
		},
	}
}

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

// Addr returns where it listens.
func (n *network) Addr() net.Addr { return n.listener.Addr() }

// Dial connects to a member by its ID: that is its address in the group.
func (n *network) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	return n.dial(protocol.MemberID(address), forRaft, timeout)
}

// dial asks DNS first, and takes the address where the member proved itself last if that fails.
func (n *network) dial(id protocol.MemberID, p Purpose, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var dialer net.Dialer
	raw, err := dialer.DialContext(ctx, "tcp", n.address(id))
	var dns *net.DNSError
	if last := n.peers.address(id); errors.As(err, &dns) && last != "" {
		raw, err = dialer.DialContext(ctx, "tcp", last)
	}
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

// prove exchanges hellos. Each side refuses the other before any message of raft passes.
func (n *network) prove(c *tls.Conn, want protocol.MemberID, p Purpose) (hello, error) {
	if err := c.SetDeadline(time.Now().Add(helloTimeout)); err != nil {
		return hello{}, err
	}
	if n.isLeft() {
		return hello{}, errLeft
	}
	if err := c.Handshake(); err != nil {
		return hello{}, err
	}
	dials := want != ""
	own := n.hello()
	own.Purpose = p
	if dials {
		if err := write(c, own); err != nil {
			return hello{}, err
		}
	}
	theirs, err := read(c)
	if err != nil {
		return hello{}, err
	}
	refusal := n.judge(c, theirs, want)
	if !dials {
		if refusal != nil {
			own.Refused = refusal.Error()
		}
		if err := write(c, own); err != nil {
			return hello{}, err
		}
	}
	if theirs.Refused != "" {
		n.report(fmt.Sprintf("member %s refuses this member: %s", theirs.ID, theirs.Refused))
		return hello{}, errors.New(theirs.Refused)
	}
	if refusal != nil {
		refusal = fmt.Errorf("member %s is refused: %w", theirs.ID, refusal)
		if dials {
			n.report(refusal.Error())
		}
		return hello{}, refusal
	}
	address := ""
	if dials {
		address = c.RemoteAddr().String()
	}
	if err := n.peers.remember(theirs, address); err != nil {
		return hello{}, err
	}
	return theirs, c.SetDeadline(time.Time{})
}

// judge compares a hello with the certificate and with what is known of the member.
func (n *network) judge(c *tls.Conn, h hello, want protocol.MemberID) error {
	if want != "" && h.ID != want {
		return fmt.Errorf("it is %s, not %s", h.ID, want)
	}
	if err := c.ConnectionState().PeerCertificates[0].VerifyHostname(string(h.ID)); err != nil {
		return err
	}
	return n.peers.check(h)
}

// write sends one line, read takes one and nothing after it.
func write(c net.Conn, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = c.Write(append(raw, '\n'))
	return err
}

func read(c net.Conn) (h hello, err error) {
	var line []byte
	for one := make([]byte, 1); len(line) < 4096; {
		if _, err := c.Read(one); err != nil {
			return h, err
		}
		if one[0] == '\n' {
			return h, json.Unmarshal(line, &h)
		}
		line = append(line, one[0])
	}
	return h, bufio.ErrTooLong
}

// tracked is a connection that the network can close.
type tracked struct {
	net.Conn
	network *network
}

func (n *network) track(c net.Conn) net.Conn {
	t := &tracked{Conn: c, network: n}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conns[t] = true
	if n.left {
		_ = c.Close()
	}
	return t
}

// Close ends the connection.
func (t *tracked) Close() error {
	t.network.mu.Lock()
	delete(t.network.conns, t)
	t.network.mu.Unlock()
	return t.Conn.Close()
}

func (n *network) isLeft() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.left
}

// setLeft closes every connection while the disk stalls, and lets new ones pass after that. It says whether that is a
// change.
func (n *network) setLeft(left bool) bool {
	n.mu.Lock()
	changed := n.left != left
	n.left = left
	n.mu.Unlock()
	if changed && left {
		n.drop()
	}
	return changed
}

func (n *network) drop() {
	n.mu.Lock()
	conns := n.conns
	n.conns = map[net.Conn]bool{}
	n.mu.Unlock()
	for c := range conns {
		_ = c.(*tracked).Conn.Close()
	}
}
