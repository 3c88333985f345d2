// Package client is the session of an engine whose members are agents: it asks and orders them by their API.
package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed"
)

// Port is where agents answer the tool.
const Port = 9740

// Session implements engine.Session and engine.WitnessRegistrar. It is safe for concurrent use.
type Session struct {
	// Check sees all bytes of a copy of the data, as engine.Snapshotter's CheckStream does. Without it there are no
	// backups.
	Check func() io.WriteCloser
	// Settings reads the options of a spec; agreed.Settings where an engine has no options of its own.
	Settings func(config map[string]string) (protocol.Settings, error)

	access engine.Access
	token  string

	mu      sync.Mutex
	clients map[string]*api.Client
	// answered are the members that answered the last observation, who leads the agents first.
	answered []string
}

var (
	_ engine.WitnessRegistrar = (*Session)(nil)
	_ engine.Failoverer       = (*Session)(nil)
	_ engine.ClientLeader     = (*Session)(nil)
)

// New returns a session that dials when it is used. It answers ErrNotReady, wrapped, as long as no agent can be asked.
func New(a engine.Access) *Session {
	s := &Session{Settings: agreed.Settings, access: a, clients: map[string]*api.Client{}}
	if b := a.Cluster.Status.Bootstrap; b != nil {
		s.token = b.Token
	}
	return s
}

// Close ends the connections.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.clients {
		c.Close()
	}
	s.clients = map[string]*api.Client{}
	return nil
}

var errPlain = errors.New("agents answer to a certificate alone, and there is none")

// client returns the client of one member's agent.
func (s *Session) client(member string) (*api.Client, error) {
	// A throw-away member answers on its own loopback alone, and has no certificates.
	if s.access.TLS == nil && !s.access.Cluster.Spec.TLS.Disabled {
		return nil, fmt.Errorf("ask the agent of %s: %w", member, errPlain)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.clients[member]
	if c == nil {
		c = api.NewClient(protocol.MemberID(member), func(ctx context.Context) (net.Conn, error) {
			return s.access.Dial(ctx, v1alpha1.PodName(member), Port)
		}, s.access.TLS)
		s.clients[member] = c
	}
	return c, nil
}

// order has one of the agents that answered last do something: any of them takes any request.
func (s *Session) order(ctx context.Context, what string, do func(context.Context, *api.Client) error) error {
	candidates := s.known()
	failed := fmt.Errorf("no agent answered: %w", engine.ErrNotReady)
	for _, member := range candidates {
		c, err := s.client(member)
		if err != nil {
			return err
		}
		if err = do(ctx, c); err == nil {
			return nil
		}
		var refused api.Refused
		var refusal *engine.Refusal
		switch {
		case errors.As(err, &refusal):
			return err
		case errors.As(err, &refused):
			// Most refusals pass: a member that does not stream yet, a change that is under way.
			return fmt.Errorf("%s: %s: %w", what, refused.Why, engine.ErrNotReady)
		case errors.Is(err, api.ErrUnknown), ctx.Err() != nil:
			return fmt.Errorf("%s: %w", what, err)
		}
		failed = err
	}
	return fmt.Errorf("%s: %w", what, failed)
}

// known are the members that answered last; before the first observation those that the cluster object tells of.
func (s *Session) known() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.answered) > 0 || s.access.Cluster.Status.Bootstrap == nil {
		return slices.Clone(s.answered)
	}
	return slices.Clone(s.access.Cluster.Status.Bootstrap.Members)
}

// Register implements engine.Session. A repeat has no effect.
func (s *Session) Register(ctx context.Context, member string) error {
	return s.add(ctx, member, false)
}

// RegisterWitness implements engine.WitnessRegistrar.
func (s *Session) RegisterWitness(ctx context.Context, member string) error {
	return s.add(ctx, member, true)
}

func (s *Session) add(ctx context.Context, member string, witness bool) error {
	return s.order(ctx, "register "+member, func(ctx context.Context, c *api.Client) error {
		return c.AddMember(ctx, api.NewMember{ID: protocol.MemberID(member), Witness: witness})
	})
}

// Promote implements engine.Session: members get their vote by themselves.
func (*Session) Promote(context.Context, string) error { return nil }

// Deregister implements engine.Session. The identity of a member is its name, which is never used again.
func (s *Session) Deregister(ctx context.Context, member, id string) error {
	if id != "" {
		member = id
	}
	return s.order(ctx, "remove "+member+" from the member list", func(ctx context.Context, c *api.Client) error {
		return c.RemoveMember(ctx, protocol.MemberID(member))
	})
}

// Failover implements engine.Failoverer.
func (s *Session) Failover(ctx context.Context, member string) error {
	return s.order(ctx, "appoint "+member, func(ctx context.Context, c *api.Client) error {
		return c.Failover(ctx, api.Failover{Target: protocol.MemberID(member), Lose: true})
	})
}

// HandOver implements engine.Session: a switchover.
func (s *Session) HandOver(ctx context.Context, to string) error {
	return s.order(ctx, "switch over to "+to, func(ctx context.Context, c *api.Client) error {
		return c.Switchover(ctx, api.Switchover{Target: protocol.MemberID(to), Why: "asked for"})
	})
}
