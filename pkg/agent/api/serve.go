package api

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// Listener takes the connections of other agents, which proved themselves to the group.
type Listener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

// NewListener returns a listener for Serve. Handle is the handler of the group.
func NewListener() *Listener { return &Listener{conns: make(chan net.Conn), done: make(chan struct{})} }

// Handle hands a connection on, and returns when it ended.
func (l *Listener) Handle(_ protocol.MemberID, c net.Conn) {
	ended := make(chan struct{})
	select {
	case l.conns <- &handed{Conn: c, ended: ended}:
	case <-l.done:
		return
	}
	select {
	case <-ended:
	case <-l.done:
	}
}

type handed struct {
	net.Conn
	once  sync.Once
	ended chan struct{}
}

// Close ends the connection.
func (h *handed) Close() error {
	h.once.Do(func() { close(h.ended) })
	return h.Conn.Close()
}

// Accept returns the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close ends the listener.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr has no meaning here.
func (l *Listener) Addr() net.Addr { return &net.UnixAddr{Name: "group", Net: "unix"} }

// Serve answers clients that prove themselves by a certificate, and other agents, until both listeners are closed.
// Without a config clients prove nothing: that is for a listener that nobody else reaches.
func (s *Service) Serve(clients net.Listener, config *tls.Config, agents net.Listener) error {
	if config != nil {
		config = config.Clone()
		config.ClientAuth, config.MinVersion = tls.RequireAndVerifyClientCert, tls.VersionTLS13
		clients = tls.NewListener(clients, config)
	}
	server := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute,
		ErrorLog: log.New(io.Discard, "", 0), // who is refused is no news
	}
	var errs [2]error
	var both sync.WaitGroup
	for i, l := range []net.Listener{clients, agents} {
		both.Go(func() {
			if err := server.Serve(l); !errors.Is(err, net.ErrClosed) {
				errs[i] = err
			}
		})
	}
	both.Wait()
	return errors.Join(errs[:]...)
}
