package api

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// agent is a node that agrees with itself at once.
type agent struct {
	mu     sync.Mutex
	node   *protocol.Node
	index  uint64
	silent bool
	asked  []protocol.Intent
}

func (a *agent) View(look func(*protocol.Node)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	look(a.node)
}

func (a *agent) Ask(i protocol.Intent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, i)
}

func (a *agent) Propose(e protocol.Entry) {
	if a.silent {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.index++
	a.node.Step(0, protocol.Applied{Index: a.index, Entry: e})
}

func (a *agent) Leader() protocol.MemberID              { return "m1" }
func (a *agent) Heard() map[protocol.MemberID]time.Time { return nil }
func (a *agent) Reinit()                                {}
func (a *agent) Failing() string                        { return "" }
func (a *agent) Recover(string) error                   { return nil }

// newAgent is m1, of a cluster in which it serves.
func newAgent() *agent {
	settings := protocol.Settings{
		Version: 1, Timing: protocol.DefaultTiming(), Durability: protocol.Async, MaxLag: 100,
	}
	return &agent{index: 1, node: protocol.New(protocol.Config{ID: "m1", Start: 1, Document: protocol.Document{
		Index: 1, Token: "t", System: "s", Generation: 1, Phase: protocol.Serving, Primary: "m1", Process: 1,
		Voters: []protocol.MemberID{"m1", "m2", "m3"}, Settings: settings,
		Members: map[protocol.MemberID]protocol.Member{"m1": {Start: 1, Level: 1, Volume: "v1"}, "m2": {}, "m3": {}},
	}})}
}

func (a *agent) service() *Service {
	return &Service{Member: "m1", Start: 1, Agent: a, Group: a, Now: func() protocol.Instant { return 0 }}
}

// client speaks with a service without TLS: who may connect is another test's.
func client(t *testing.T, s *Service) *Client {
	t.Helper()
	server := httptest.NewTLSServer(s.Handler())
	t.Cleanup(server.Close)
	config := server.Client().Transport.(*http.Transport).TLSClientConfig
	c := NewClient("example.com", func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", server.Listener.Addr().String())
	}, config)
	t.Cleanup(c.Close)
	return c
}

// TestShown: what an agent shows is known after any answer, and after a handshake that failed because of it.
func TestShown(t *testing.T) {
	t.Parallel()
	c := client(t, newAgent().service())
	if c.Shown() != nil {
		t.Error("there is a certificate before the first answer")
	}
	if _, err := c.Status(t.Context()); err != nil {
		t.Fatal(err)
	}
	shown := c.Shown()
	if shown == nil || shown.Subject.String() == "" {
		t.Fatalf("it shows %v", shown)
	}
	strict := client(t, newAgent().service())
	strict.http.Transport.(*http.Transport).TLSClientConfig.RootCAs = x509.NewCertPool()
	if _, err := strict.Status(t.Context()); err == nil {
		t.Error("an authority that nobody knows is trusted")
	}
	if got := strict.Shown(); got == nil || !got.Equal(shown) {
		t.Errorf("it shows %v", got)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	s := newAgent().service()
	s.Note("a notice")
	st, err := client(t, s).Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if st.Member != "m1" || !st.Quorum || st.Primary != "m1" || st.Phase != protocol.Serving || st.Generation != 1 ||
		len(st.Members) != 3 || !st.Members[2].Voter || st.Members[2].Heard >= 0 || st.Notices[0].Text != "a notice" {
		t.Errorf("the status is %+v", st)
	}
}

// TestReplaceHold: a hold takes the place of the former one, once, and the status says that it can.
func TestReplaceHold(t *testing.T) {
	t.Parallel()
	a := newAgent()
	m := a.node.Document().Members["m1"]
	m.Level = protocol.LevelOf((*protocol.ReplaceHold)(nil).Kind())
	a.node.Document().Members["m1"] = m
	c := client(t, a.service())
	for _, r := range []struct {
		name    string
		hold    protocol.Hold
		refused bool
	}{
		{"the first", protocol.Hold{By: "test"}, false},
		{"another", protocol.Hold{By: "other", Number: 1}, false},
		{"it again", protocol.Hold{By: "other", Number: 1}, false},
		{"the first again", protocol.Hold{By: "test"}, true},
	} {
		err := c.StartHold(t.Context(), Hold{ID: "h", Hold: r.hold})
		var refused Refused
		if errors.As(err, &refused) != r.refused || !r.refused && err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
	}
	st, err := c.Status(t.Context())
	if err != nil || !st.ReplacesHolds || st.Holds["h"].By != "other" {
		t.Errorf("the status is %+v (%v)", st, err)
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	a := newAgent()
	c := client(t, a.service())
	settings := a.node.Document().Settings
	settings.Version = 2
	hold := Hold{ID: "h", Hold: protocol.Hold{By: "test"}}
	again := Hold{ID: "h", Hold: protocol.Hold{By: "test", Number: 1}}
	for _, r := range []struct {
		name, refused string
		do            func(context.Context) error
	}{
		{"add a member", "", func(ctx context.Context) error { return c.AddMember(ctx, NewMember{ID: "m4"}) }},
		{"add it again", "", func(ctx context.Context) error { return c.AddMember(ctx, NewMember{ID: "m4"}) }},
		{"add it as a witness", "in use", func(ctx context.Context) error {
			return c.AddMember(ctx, NewMember{ID: "m4", Witness: true})
		}},
		{"remove the primary", "switch over first", func(ctx context.Context) error { return c.RemoveMember(ctx, "m1") }},
		{"remove nobody", "no member", func(ctx context.Context) error { return c.RemoveMember(ctx, "x") }},
		{"hold", "", func(ctx context.Context) error { return c.StartHold(ctx, hold) }},
		{"hold again", "", func(ctx context.Context) error { return c.StartHold(ctx, hold) }},
		{"hold once more, beside older members", "in force", func(ctx context.Context) error {
			return c.StartHold(ctx, again)
		}},
		{"end the hold", "", func(ctx context.Context) error { return c.EndHold(ctx, "h") }},
		{"end it again", "", func(ctx context.Context) error { return c.EndHold(ctx, "h") }},
		{"configure", "", func(ctx context.Context) error { return c.Configure(ctx, settings) }},
		{"configure again", "", func(ctx context.Context) error { return c.Configure(ctx, settings) }},
		{"configure an old version", "do not follow", func(ctx context.Context) error {
			old := settings
			old.MaxLag++
			return c.Configure(ctx, old)
		}},
		{"configure other times", "given when it is made", func(ctx context.Context) error {
			next := settings
			next.Version, next.Timing.Lease = 3, 8*time.Second
			return c.Configure(ctx, next)
		}},
		{"configure what older members don't know", "does not know readonly-lag", func(ctx context.Context) error {
			next := settings
			next.Version, next.ReadonlyLag = 3, time.Minute
			return c.Configure(ctx, next)
		}},
		{"switch over to a member without data", "no copy of the data", func(ctx context.Context) error {
			return c.Switchover(ctx, Switchover{Target: "m2"})
		}},
		{"fail over from a primary", "switch over instead", func(ctx context.Context) error {
			return c.Failover(ctx, Failover{Target: "m2", Lose: true})
		}},
	} {
		err := r.do(t.Context())
		var refused Refused
		switch {
		case r.refused == "" && err != nil:
			t.Errorf("%s: %v", r.name, err)
		case r.refused != "" && (!errors.As(err, &refused) || !strings.Contains(refused.Why, r.refused)):
			t.Errorf("%s: %v, want it refused because %q", r.name, err, r.refused)
		}
	}
}

// TestUnknown has no majority: the outcome is not known, and that is what is said.
func TestUnknown(t *testing.T) {
	t.Parallel()
	a := newAgent()
	a.silent = true
	s := a.service()
	ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	recorder := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/members", strings.NewReader(`{"id":"m5"}`))
	s.Handler().ServeHTTP(recorder, r)
	var p problem
	if err := json.NewDecoder(recorder.Body).Decode(&p); err != nil || !errors.Is(p.err(), ErrUnknown) {
		t.Errorf("the answer is %d %+v: %v", recorder.Code, p, err)
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	s := newAgent().service()
	for _, r := range []struct{ method, path, body string }{
		{http.MethodPost, "/v1/members", "{"},
		{http.MethodPost, "/v1/members", `{"name":"m5"}`},
		{http.MethodPost, "/v1/switchover", "x"},
		{http.MethodPost, "/v1/members", strings.Repeat(" ", mostBody+1) + "{}"},
	} {
		recorder := httptest.NewRecorder()
		s.Handler().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), r.method, r.path,
			strings.NewReader(r.body)))
		answer, _ := io.ReadAll(recorder.Body)
		if recorder.Code != http.StatusConflict || !strings.Contains(string(answer), "can't be read") {
			t.Errorf("%s %s: %d %s", r.method, r.path, recorder.Code, answer)
		}
	}
}
