package agent

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// lasts is how long a hold lasts here: longer than a failover takes.
const lasts = 20 * time.Second

// TestHoldEnds has a hold end because its time is over: the primary is lost meanwhile, nobody leads until then, and
// another one does after it.
func TestHoldEnds(t *testing.T) {
	if !*allFlag && !torture() {
		t.Skip("-all is not set; holds are the group's, and so the same with Valkey")
	}
	holdEnds(t, postgres{})
}

// TestHoldEndsValkey does the same with Valkey or Redis.
func TestHoldEndsValkey(t *testing.T) { holdEnds(t, valkey{}) }

func holdEnds(t *testing.T, e engine) {
	t.Parallel()
	s := begin(t, options{durability: protocol.Strict, members: 3, engine: e}, 1)
	p := s.awaitPrimary()
	others := s.replicas(p)
	said := func(what string) bool {
		return slices.ContainsFunc(others, func(m *member) bool {
			st := m.status()
			return st != nil && strings.Contains(st.Blocked, what)
		})
	}
	asked := time.Now()
	s.since = time.Since(s.clients.began)
	if err := s.ask(p, func(ctx context.Context, c *api.Client) error {
		return c.StartHold(ctx, api.Hold{ID: "h", Hold: protocol.Hold{For: lasts, By: "test", Why: "maintenance"}})
	}); err != nil {
		t.Fatal(err)
	}
	p.kill()
	s.wait("nobody else is appointed", func() bool {
		return said("a hold allows no other primary") || s.primary() != nil
	})
	s.wait("another primary", func() bool { return s.primary() != nil })
	if took := time.Since(asked); took < lasts {
		t.Errorf("%s leads %s after a hold of %s began", s.awaitPrimary().id, took, lasts)
	}
	s.again()
	for _, m := range others {
		if st := m.known(); len(st.Holds) > 0 {
			t.Errorf("%s still knows of a hold: %+v", m.id, st)
		}
	}
	p.start()
	s.wait("whole", s.whole)
	s.clients.check(t)
}
