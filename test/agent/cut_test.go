package agent

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// living is a primary whose clock stopped: it takes its lease for valid, and serves its log to all who ask, while the
// others agree on the next generation.
type living struct {
	*member
	generation protocol.Generation
	// leader leads the group. The primary can be reached by replica alone, which hears the others, too.
	leader, replica *member
	goesOn          func()
	stop            context.CancelFunc
}

// survives cuts a primary off from all but one replica, and stops its clock. Its server writes on.
// A hold keeps others from being appointed.
func (s *story) survives() *living {
	s.t.Helper()
	if p := s.awaitPrimary(); s.leader() == p {
		if err := s.ask(p, func(ctx context.Context, c *api.Client) error {
			return c.Switchover(ctx, api.Switchover{Target: s.replicas(p)[0].id, Why: "test"})
		}); err != nil {
			s.t.Fatal(err)
		}
		s.wait("whole", s.whole)
	}
	old := &living{member: s.awaitPrimary(), leader: s.leader()}
	old.generation = old.known().Generation
	others := slices.DeleteFunc(s.replicas(old.member), func(m *member) bool { return m == old.leader })
	old.replica = others[0]
	if err := s.ask(old.leader, func(ctx context.Context, c *api.Client) error {
		return c.StartHold(ctx, api.Hold{ID: "h", Hold: protocol.Hold{By: "test", Why: "nobody is appointed yet"}})
	}); err != nil {
		s.t.Fatal(err)
	}
	old.goesOn = old.clock.stand(s.t)
	s.cut(true, old.member, append(others[1:], old.leader)...)
	writing, stop := context.WithCancel(s.t.Context())
	old.stop = stop
	go func() {
		for writing.Err() == nil {
			_, _ = old.ask("dbop", time.Second, "SET synchronous_commit = local; "+
				"SELECT pg_logical_emit_message(true, 'test', repeat('x', 100000))")
		}
	}()
	return old
}

// lsn asks the server of a member for a place in the log, in bytes; 0 while it does not answer.
func (m *member) lsn(place string) uint64 {
	got, err := m.ask("dbop", time.Second, "SELECT ("+place+") - '0/0'")
	if err != nil {
		return 0
	}
	at, _ := strconv.ParseUint(got[0][0], 10, 64)
	return at
}

const (
	// replicaEnd is where the log of a replica ends, primaryEnd where that of a primary does.
	replicaEnd = "greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn())"
	primaryEnd = "pg_current_wal_flush_lsn()"
)

// reported waits for the report of a replica for the next generation, and for its server.
func (s *story) reported(old *living) (at protocol.Position) {
	s.t.Helper()
	s.wait("the report of "+string(old.replica.id), func() bool {
		st, own := old.leader.status(), old.replica.status()
		if st == nil || own == nil || own.Generation <= old.generation {
			return false
		}
		r, known := st.Reports[old.replica.id]
		at = r.Position
		return known && st.Generation > old.generation && !own.Server.Unread
	})
	return at
}

// sealed waits until a replica knows of the next generation.
func (s *story) sealed(old *living) {
	s.t.Helper()
	s.wait("the next generation", func() bool {
		st := old.replica.status()
		return st != nil && st.Generation > old.generation
	})
}

// restarts kills a replica and starts it again, and returns its report. It must not have a byte of what the old primary
// wrote after the kill.
func (s *story) restarts(old *living) protocol.Position {
	s.t.Helper()
	old.replica.kill()
	most := old.lsn(primaryEnd)
	old.replica.start()
	at := s.reported(old)
	for until := time.Now().Add(s.lease() / 2); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		if end := max(old.replica.lsn(replicaEnd), at.Offset); end > most {
			s.t.Fatalf("%s reports %s, its log goes to %x, and it was killed before %x", old.replica.id, at, end, most)
		}
		most = min(most, at.Offset)
	}
	return at
}

// TestCutReplica kills a replica between its cut from a primary and its report, and after that, while the primary lives
// on and serves its log. By the positions of the log it takes nothing of it any more. Of five, three others go on with
// the group meanwhile: so the replica does not lead it when it is back, and tells the old primary nothing.
func TestCutReplica(t *testing.T) {
	t.Parallel()
	s := begin(t, options{durability: protocol.Strict, members: 5, boots: true}, *seedFlag)
	s.make(trouble{"a replica is killed on its way from one primary to the next", func(s *story) {
		old := s.survives()
		s.sealed(old)
		s.restarts(old)
		at := s.restarts(old)
		end, st := old.lsn(primaryEnd), old.known()
		t.Logf("  %s reports %s, and the old primary has %x", old.replica.id, at, end)
		if end <= at.Offset || st.Generation != old.generation || !st.Server.Serving {
			t.Errorf("%s does not live on: this shows nothing\n%s", old.id, s.describe())
		}
		if err := s.ask(old.leader, func(ctx context.Context, c *api.Client) error {
			return c.EndHold(ctx, "h")
		}); err != nil {
			t.Fatal(err)
		}
		s.ended(old.generation)
		old.stop()
		old.goesOn()
		s.mend()
		s.wait("whole", s.whole)
		histories, _ := filepath.Glob(filepath.Join(old.replica.directory, "data", "pgdata", "pg_wal", "*.history"))
		if all := forks(t, histories); all[len(all)-1].at > at.Offset {
			t.Errorf("the log of %s goes on at %x, and it reported %s", old.replica.id, all[len(all)-1].at, at)
		}
	}})
	s.clients.check(t)
}
