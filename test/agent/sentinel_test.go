package agent

import (
	"bufio"
	"context"
	"crypto/tls"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// asks connects to the agent of a member as a client of Sentinel.
func (m *member) asks(t *testing.T) *redisSession {
	t.Helper()
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}}
	conn, err := d.DialContext(t.Context(), "tcp", "127.0.0.1:"+strconv.Itoa(m.sentinel))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	s := &redisSession{conn: conn, in: bufio.NewReader(conn)}
	if got := s.says(t, "PING"); !strings.Contains(got, "NOAUTH") {
		t.Errorf("somebody without a name is answered %s", got)
	}
	if got := s.says(t, "AUTH", "app", password); got != "OK" {
		t.Fatalf("a user of the database is answered %s", got)
	}
	return s
}

// says asks, and returns the words of the answer or of the error.
func (s *redisSession) says(t *testing.T, args ...string) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
	defer stop()
	got, err := s.do(ctx, args...)
	if err != nil {
		return err.Error()
	}
	return strings.Join(got, " ")
}

// TestSentinel asks every agent for the primary as clients of Sentinel do, through a switchover, and is told of it.
func TestSentinel(t *testing.T) {
	t.Parallel()
	s := begin(t, options{durability: protocol.Strict, members: 3, engine: valkey{}, proxied: true}, 1)
	before := s.awaitPrimary()
	target := s.replicas(before)[0]
	at := func(m *member) string { return "127.0.0.1 " + strconv.Itoa(m.port) }
	var told []*redisSession
	for _, m := range s.members {
		c := m.asks(t)
		if got := c.says(t, "SENTINEL", "get-master-addr-by-name", "db"); got != at(before) {
			t.Errorf("%s says that the primary is at %s", m.id, got)
		}
		for _, o := range s.replicas(before) {
			if got := c.says(t, "SENTINEL", "replicas", "db"); !strings.Contains(got, "port "+strconv.Itoa(o.port)) {
				t.Errorf("%s does not name %s: %s", m.id, o.id, got)
			}
		}
		if got := c.says(t, "SENTINEL", "sentinels", "db"); strings.Count(got, "flags sentinel") != 2 {
			t.Errorf("%s does not name the others: %s", m.id, got)
		}
		if got := c.says(t, "SUBSCRIBE", "+switch-master"); !strings.Contains(got, "subscribe +switch-master") {
			t.Fatalf("%s answers %s", m.id, got)
		}
		told = append(told, c)
	}
	if err := s.ask(before, func(ctx context.Context, c *api.Client) error {
		return c.Switchover(ctx, api.Switchover{Target: target.id})
	}); err != nil {
		t.Fatal(err)
	}
	for i, c := range told {
		_ = c.conn.SetDeadline(time.Now().Add(10 * time.Second))
		want := []string{"message", "+switch-master", "db " + at(before) + " " + at(target)}
		if got, err := c.answer(); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s tells %q: %v", s.members[i].id, got, err)
		}
		if got := s.members[i].asks(t).says(t, "SENTINEL", "get-master-addr-by-name", "db"); got != at(target) {
			t.Errorf("%s says that the primary is at %s", s.members[i].id, got)
		}
	}
	s.again()
	s.wait("all stream", s.whole)
	s.clients.check(t)
}
