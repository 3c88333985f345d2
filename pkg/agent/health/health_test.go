package health

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

type agent struct {
	node *protocol.Node
	last protocol.Instant
}

func (a agent) View(look func(*protocol.Node)) { look(a.node) }
func (a agent) LastStep() protocol.Instant     { return a.last }
func (a agent) leader() protocol.MemberID      { return "m1" }
func at(d time.Duration) func() protocol.Instant {
	return func() protocol.Instant { return protocol.Instant(d) }
}

func TestHealth(t *testing.T) {
	t.Parallel()
	document := protocol.Document{
		Token: "t", System: "s", Generation: 1, Phase: protocol.Serving, Primary: "m1",
		Members: map[protocol.MemberID]protocol.Member{"m1": {}, "w": {Witness: true}},
	}
	member := func(id protocol.MemberID) *protocol.Node {
		return protocol.New(protocol.Config{ID: id, Document: document})
	}
	for _, c := range []struct {
		name, path, want string
		agent            agent
		now              time.Duration
	}{
		{"a loop that runs", "/live", "", agent{last: protocol.Instant(time.Second)}, 5 * time.Second},
		{"before the loop", "/live", "", agent{}, time.Hour},
		{"a loop that is stuck", "/live", "is stuck since 11s", agent{last: protocol.Instant(time.Second)},
			12 * time.Second},
		{"a loop that is stuck is not ready", "/ready", "is stuck", agent{last: 1}, 12 * time.Second},
		{"not ready before the loop", "/ready", "the agent starts", agent{}, time.Second},
		{"a witness", "/ready", "", agent{member("w"), 1}, time.Second},
		{"a primary without a lease", "/ready", "the lease is over", agent{member("m1"), 1}, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := &Health{Agent: c.agent, Leader: c.agent.leader, Now: at(c.now)}
			got := httptest.NewRecorder()
			h.Handler().ServeHTTP(got, httptest.NewRequestWithContext(t.Context(), http.MethodGet, c.path, nil))
			body, _ := io.ReadAll(got.Body)
			if (got.Code == http.StatusOK) != (c.want == "") || !strings.Contains(string(body), c.want) {
				t.Errorf("%s answers %d %q, want %q", c.path, got.Code, body, c.want)
			}
		})
	}
}
