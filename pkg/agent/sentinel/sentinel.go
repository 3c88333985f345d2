// Package sentinel answers clients that know Redis or Valkey Sentinel: where the primary of a database is, and, to
// those who subscribe, that it is another one now. It decides nothing. Every agent of a member with data answers, with
// what it knows of the group.
package sentinel

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// Config is what the answers need of the agent.
type Config struct {
	Member protocol.MemberID
	// Name is what clients call the database.
	Name string
	// Listen is where clients connect to, with TLS unless it is nil.
	Listen string
	TLS    *tls.Config
	// Server is where clients reach the server of a member, Agent where they reach its agent for these questions.
	Server, Agent func(protocol.MemberID) string
	// Members are those that hold data.
	Members func() []protocol.MemberID
	// Allows says whether a user of the database has a password.
	Allows func(user, password string) bool
	// Now reads CLOCK_BOOTTIME.
	Now func() protocol.Instant
	// Report takes what a person should know.
	Report func(string)
}

// Server answers clients.
type Server struct {
	config Config

	mu sync.Mutex
	// route is the last one that led to a primary, replicas are those of the present one.
	route    protocol.Route
	replicas []protocol.MemberID
	sessions map[*session]bool
	last     int
}

// New returns a server that knows nothing yet.
func New(c Config) *Server { return &Server{config: c, sessions: map[*session]bool{}} }

// Set takes the present route. It never waits.
func (s *Server) Set(r protocol.Route) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replicas = r.Replicas
	if r.Primary == "" {
		return
	}
	before := s.route.Primary
	s.route = r
	if before == "" || before == r.Primary {
		return
	}
	oldHost, oldPort := split(s.config.Server(before))
	host, port := split(s.config.Server(r.Primary))
	for c := range s.sessions {
		c.publish("+switch-master", fmt.Sprintf("%s %s %s %s %s", s.config.Name, oldHost, oldPort, host, port))
	}
}

// now returns the way to the primary, and who streams from it. It is not known once this agent has learnt of no lease
// for the time of another one: it may have lost the group, and others know more.
func (s *Server) now() (r protocol.Route, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r = s.route
	r.Replicas = s.replicas
	return r, r.Primary != "" && s.config.Now().Sub(r.Until) < r.Lease
}

// acceptPause keeps an agent that is out of descriptors from trying all the time.
const acceptPause = 100 * time.Millisecond

// Run answers until the context is done.
func (s *Server) Run(ctx context.Context) error {
	l, err := net.Listen("tcp", s.config.Listen)
	if err != nil {
		return fmt.Errorf("listen for clients of Sentinel: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	defer s.end()
	for {
		conn, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case err != nil:
			time.Sleep(acceptPause)
		default:
			if s.config.TLS != nil {
				conn = tls.Server(conn, s.config.TLS)
			}
			s.open(conn)
		}
	}
}

// mostSessions bounds the clients at one agent.
const mostSessions = 10_000

func (s *Server) open(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sessions) >= mostSessions {
		_ = conn.Close()
		return
	}
	s.last++
	c := newSession(s, conn, s.last)
	s.sessions[c] = true
	go c.write()
	go func() {
		c.serve()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.sessions, c)
		c.close()
	}()
}

// end ends all sessions.
func (s *Server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.sessions {
		c.close()
	}
}

// split is for addresses of the configuration, which have a port.
func split(address string) (host, port string) {
	host, port, _ = net.SplitHostPort(address)
	return host, port
}
