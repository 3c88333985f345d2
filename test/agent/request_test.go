package agent

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// refuses holds that a request is refused for a reason.
func (s *story) refuses(why string, do func(context.Context, *api.Client) error) {
	s.t.Helper()
	err := s.ask(s.awaitPrimary(), do)
	var refused api.Refused
	if !errors.As(err, &refused) || !strings.Contains(refused.Why, why) {
		s.t.Errorf("it is not refused because %q: %v", why, err)
	}
}

// TestRequests asks the agents for what a person can ask for.
func TestRequests(t *testing.T) {
	t.Parallel()
	s := begin(t, options{durability: protocol.Preferred, members: 3}, 1)
	p := s.awaitPrimary()
	others := s.replicas(p)
	for _, m := range s.members {
		if live, ready := m.probe("/live"), m.probe("/ready"); live+ready != "" {
			t.Errorf("%s is not live because %q, not ready because %q", m.id, live, ready)
		}
	}
	s.refuses("holds no data", func(ctx context.Context, c *api.Client) error {
		return c.Switchover(ctx, api.Switchover{Target: "nobody"})
	})
	s.refuses("is the primary", func(ctx context.Context, c *api.Client) error {
		return c.Switchover(ctx, api.Switchover{Target: p.id})
	})
	s.refuses("switch over first", func(ctx context.Context, c *api.Client) error { return c.RemoveMember(ctx, p.id) })
	s.refuses("switch over instead", func(ctx context.Context, c *api.Client) error {
		return c.Failover(ctx, api.Failover{Target: others[0].id, Lose: true})
	})

	wanted := s.settings
	wanted.Version, wanted.Timing.Stop = 2, time.Millisecond
	s.refuses("raise stop", func(ctx context.Context, c *api.Client) error { return c.Configure(ctx, wanted) })
	wanted = s.settings
	wanted.Version, wanted.Values = 2, map[string]string{"work_mem": "7MB", "fsync": "off"}
	s.refuses("the setting fsync belongs to the agent", func(ctx context.Context, c *api.Client) error {
		return c.Configure(ctx, wanted)
	})
	wanted.Values = map[string]string{"work_mem": "7MB"}
	configure := func(ctx context.Context, c *api.Client) error { return c.Configure(ctx, wanted) }
	if err := s.ask(others[0], configure); err != nil {
		t.Fatal(err)
	}
	for _, m := range s.members {
		s.wait("the setting at "+string(m.id), func() bool {
			got, err := m.ask("dbop", time.Second, "SELECT current_setting('work_mem'), current_setting('fsync')")
			return err == nil && got[0][0] == "7MB" && got[0][1] == "on"
		})
	}

	if err := s.ask(others[1], func(ctx context.Context, c *api.Client) error {
		return c.StartHold(ctx, api.Hold{ID: "h", Hold: protocol.Hold{By: "test", Why: "maintenance"}})
	}); err != nil {
		t.Fatal(err)
	}
	s.refuses("a hold allows", func(ctx context.Context, c *api.Client) error {
		return c.Switchover(ctx, api.Switchover{Target: others[0].id})
	})
	p.kill()
	s.wait("nobody else is appointed", func() bool {
		for _, m := range others {
			if st := m.status(); st != nil && strings.Contains(st.Blocked, "a hold allows no other primary") {
				return true
			}
		}
		return false
	})
	for _, m := range others {
		if live, ready := m.probe("/live"), m.probe("/ready"); live != "" || ready != "there is no primary now" {
			t.Errorf("%s is not live because %q, not ready because %q", m.id, live, ready)
		}
	}
	err := s.ask(others[0], func(ctx context.Context, c *api.Client) error {
		return c.Failover(ctx, api.Failover{Target: others[0].id})
	})
	if err == nil || !strings.Contains(err.Error(), "bytes of what the last primary published are missing") {
		t.Errorf("a forced failover does not say what is lost: %v", err)
	}
	if err := s.ask(others[0], func(ctx context.Context, c *api.Client) error {
		return c.Failover(ctx, api.Failover{Target: others[0].id, Lose: true})
	}); err != nil {
		t.Fatal(err)
	}
	s.again()
	if now := s.awaitPrimary(); now != others[0] {
		t.Error("the failover made another member the primary")
	}
	p.start()
	if err := s.ask(others[1], func(ctx context.Context,
		c *api.Client) error {
		return c.EndHold(ctx, "h")
	}); err != nil {
		t.Fatal(err)
	}
	s.wait("whole", s.whole)
	s.clients.check(t)
}

// TestStrangers asks an agent with certificates of another authority, and without any.
func TestStrangers(t *testing.T) {
	t.Parallel()
	s := newSite(t, options{durability: protocol.Async, members: 1})
	s.wait("a primary", func() bool { return s.primary() != nil })
	m := s.members[0]
	foreign := newAuthority(t, day).config(t, "tool")
	foreign.RootCAs = s.authority.config(t, "tool").RootCAs
	for name, config := range map[string]*tls.Config{
		"of another authority": foreign, "without a certificate": {RootCAs: foreign.RootCAs, MinVersion: tls.VersionTLS13},
	} {
		c := api.NewClient(m.id, func(ctx context.Context) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", m.api)
		}, config)
		if _, err := c.Status(t.Context()); err == nil {
			t.Errorf("a client %s is answered", name)
		}
		c.Close()
	}
}
