package member

import (
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestRests: a server at rest is observed seldom, also while its data grows old.
func TestRests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*protocol.Server)
		want   bool
	}{
		"nothing":         {func(*protocol.Server) {}, true},
		"a flush":         {func(s *protocol.Server) { s.Flushed++ }, true},
		"older data":      {func(s *protocol.Server) { s.Lag += time.Second }, true},
		"much of the log": {func(s *protocol.Server) { s.Position.Offset += 2 * mostAtRest }, false},
		"an upstream":     {func(s *protocol.Server) { s.Upstream = "m2" }, false},
	} {
		before := protocol.Server{Role: protocol.Replica, Upstream: "m1"}
		now := before
		c.change(&now)
		if got := rests(before, now); got != c.want {
			t.Errorf("%s: it rests %t", name, got)
		}
	}
}
