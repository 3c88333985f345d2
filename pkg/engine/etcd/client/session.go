// Package client speaks the protocol of etcd: it asks each member by itself, and
// changes the member list, the leader, the users and the data of a cluster.
package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/addresses"
)

// Session speaks to one cluster, each member by itself. Connections are made
// when first used and kept; one that fails is dropped, so that a restarted
// pod is dialed again at once.
type Session struct {
	access engine.Access
	At     addresses.Addresses
	login  *login

	mu          sync.Mutex
	connections map[string]*Connection
	observed    []string
	closed      bool
}

var _ engine.Session = (*Session)(nil)

var errClosed = errors.New("the session is closed")

// New makes a session; it dials when a member is first asked.
func New(access engine.Access, at addresses.Addresses) *Session {
	return &Session{access: access, At: at, login: &login{credentials: access.Credentials},
		connections: map[string]*Connection{}}
}

// With lends the connection to a member. do says whether to keep it.
func (s *Session) With(member string, do func(*Connection) (keep bool)) error {
	c, err := s.take(member)
	if err != nil {
		return err
	}
	keep := do(c)
	s.giveBack(member, c, keep)
	return nil
}

func (s *Session) take(member string) (*Connection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("connect to member %s: %w", member, errClosed)
	}
	c, ok := s.connections[member]
	if !ok {
		var err error
		if c, err = newConnection(s.access, s.At, member, s.login); err != nil {
			return nil, err
		}
		s.connections[member] = c
	}
	c.users++
	return c, nil
}

func (s *Session) giveBack(member string, c *Connection, keep bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.users--
	if !keep {
		c.retired = true
		if s.connections[member] == c {
			delete(s.connections, member)
		}
	}
	if c.retired && c.users == 0 {
		// What it was used for has failed and says why; closing adds nothing.
		_ = c.close()
	}
}

// remember notes which members there are, for the methods that search for the leader.
func (s *Session) remember(members []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observed = slices.Clone(members)
}

// known are the members that were observed last; before the first
// observation those that the cluster object tells of.
func (s *Session) known() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.observed) > 0 {
		return slices.Clone(s.observed)
	}
	cluster := s.access.Cluster
	var names []string
	if cluster.Status.Bootstrap != nil {
		names = slices.Clone(cluster.Status.Bootstrap.Members)
	}
	for n := 1; n <= int(cluster.Spec.Members); n++ {
		if name := v1alpha1.MemberName(cluster.Name, n); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Close implements engine.Session. It ends what is still under way.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var errs []error
	for member, c := range s.connections {
		if err := c.close(); err != nil && !errors.Is(err, context.Canceled) {
			errs = append(errs, fmt.Errorf("close the connection to member %s: %w", member, err))
		}
	}
	clear(s.connections)
	return errors.Join(errs...)
}
