package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// session speaks to one cluster, each member by itself. Connections are made
// when first used and kept; one that fails is dropped, so that a restarted
// pod is dialed anew at once.
type session struct {
	access engine.Access
	at     addresses
	login  *login

	mu          sync.Mutex
	connections map[string]*connection
	observed    []string
	closed      bool
}

var _ engine.Session = (*session)(nil)

var errClosed = errors.New("the session is closed")

func newSession(access engine.Access, at addresses) *session {
	return &session{access: access, at: at, login: &login{credentials: access.Credentials}, connections: map[string]*connection{}}
}

// with lends the connection to a member. do says whether to keep it.
func (s *session) with(member string, do func(*connection) (keep bool)) error {
	c, err := s.take(member)
	if err != nil {
		return err
	}
	keep := do(c)
	s.giveBack(member, c, keep)
	return nil
}

func (s *session) take(member string) (*connection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("connect to member %s: %w", member, errClosed)
	}
	c, ok := s.connections[member]
	if !ok {
		var err error
		if c, err = newConnection(s.access, s.at, member, s.login); err != nil {
			return nil, err
		}
		s.connections[member] = c
	}
	c.users++
	return c, nil
}

func (s *session) giveBack(member string, c *connection, keep bool) {
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

// remember notes which members there are, for the methods that look for the leader.
func (s *session) remember(members []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observed = slices.Clone(members)
}

// known are the members that were observed last; before the first
// observation those that the cluster object tells of.
func (s *session) known() []string {
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
func (s *session) Close() error {
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
