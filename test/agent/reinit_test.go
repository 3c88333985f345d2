package agent

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestReinit damages the copy of a replica, and has it made again through the agent of another one.
func TestReinit(t *testing.T) {
	t.Parallel()
	s := begin(t, options{durability: protocol.Strict, members: 3}, 1)
	p := s.awaitPrimary()
	others := s.replicas(p)
	damaged := others[0]
	reinit := func(id protocol.MemberID) func(context.Context, *api.Client) error {
		return func(ctx context.Context, c *api.Client) error { return c.Reinit(ctx, id) }
	}
	s.refuses("may be the last one", reinit(p.id))
	s.refuses("can follow the primary", reinit(damaged.id))
	s.refuses("there is no member", reinit("nobody"))
	before := damaged.known().Server.Volume
	damaged.kill()
	if err := os.Remove(filepath.Join(damaged.directory, "data", "pgdata", "global", "pg_control")); err != nil {
		t.Fatal(err)
	}
	damaged.start()
	s.wait("the copy is reported", func() bool {
		st := damaged.status()
		return st != nil && st.Server.Unfit != ""
	})
	s.wait("the copy is removed", func() bool { return s.ask(others[1], reinit(damaged.id)) == nil })
	s.wait("whole", s.whole)
	if now := damaged.known().Server.Volume; now == before || now == "" {
		t.Errorf("the copy is %q as before", now)
	}
	s.clients.check(t)
}

// TestRewindInterrupted: a copy of which a rewind ended in the middle is made again, and nobody has to ask for it.
func TestRewindInterrupted(t *testing.T) {
	t.Parallel()
	s := begin(t, options{durability: protocol.Strict, members: 3}, 1)
	broken := s.replicas(s.awaitPrimary())[0]
	before := broken.known().Server.Volume
	broken.kill()
	data := filepath.Join(broken.directory, "data")
	id, err := datadir.ReadIdentity(data)
	if err != nil {
		t.Fatal(err)
	}
	id.Rewinding = true
	if err := datadir.WriteIdentity(data, id); err != nil {
		t.Fatal(err)
	}
	s.own(filepath.Join(data, datadir.CopyFile))
	broken.start()
	s.wait("the copy is made again", func() bool {
		st := broken.status()
		return st != nil && st.Server.Volume != before && st.Server.Volume != ""
	})
	s.wait("whole", s.whole)
	s.clients.check(t)
}
