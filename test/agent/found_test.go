package agent

import (
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestFound founds a cluster and writes.
func TestFound(t *testing.T) {
	s := newSite(t, options{durability: protocol.Strict, members: 3})
	t.Logf("a primary after %s", s.wait("a primary", func() bool { return s.primary() != nil }))
	s.prepare()
	t.Logf("whole after %s more", s.wait("all stream", s.whole))
	c := s.write()
	time.Sleep(2 * time.Second)
	c.check(t)
}
