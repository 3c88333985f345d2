package agent

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestAlone loses both replicas. The former primary takes no row, and serves readers at its own address, also after all
// of its processes ended. Once the others are back nothing is missing.
func TestAlone(t *testing.T) {
	loseOthers(t, postgres{}, func(s *story, m *member) (int, error) {
		ctx, stop := context.WithTimeout(s.t.Context(), 5*time.Second)
		defer stop()
		c, err := m.dialPort(ctx, "app", m.port)
		if err != nil {
			return 0, err
		}
		defer c.Close(ctx)
		if _, err := c.Exec(ctx, "INSERT INTO rows VALUES (-1, 0)").ReadAll(); err == nil {
			return 0, errors.New("it takes a row")
		}
		got, err := rowsOf(ctx, c, "SELECT count(*) FROM rows")
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(got[0][0])
	})
}

// TestAloneValkey does the same with Valkey or Redis.
func TestAloneValkey(t *testing.T) {
	loseOthers(t, valkey{}, func(s *story, m *member) (int, error) {
		if _, err := s.command(m, "SADD", "rows", "-1"); err == nil {
			return 0, errors.New("it takes a row")
		}
		got, err := s.command(m, "SCARD", "rows")
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(got[0])
	})
}

// loseOthers has read try a write, and count the rows of a member.
func loseOthers(t *testing.T, e engine, read func(*story, *member) (int, error)) {
	t.Parallel()
	s := begin(t, options{durability: protocol.Strict, members: 3, engine: e}, 1)
	time.Sleep(time.Second)
	p := s.awaitPrimary()
	others := s.replicas(p)
	for _, m := range others {
		m.kill()
	}
	serves := func() {
		acknowledged, began := s.clients.count(), time.Now()
		why := errors.New("nobody asked")
		t.Cleanup(func() { t.Log("the last answer:", why) })
		s.wait("reads at "+string(p.id), func() bool {
			st := p.status()
			// Between the end of the lease and that of its processes a server may keep a row, which it does not acknowledge.
			if st == nil || st.Server.Serving || st.Server.Role == protocol.Primary {
				return false
			}
			var rows int
			if rows, why = read(s, p); why != nil || rows >= acknowledged {
				return why == nil
			}
			t.Fatalf("%d rows were acknowledged, %d are there", acknowledged, rows)
			return false
		})
		t.Logf("reads go on after %s", time.Since(began).Truncate(10*time.Millisecond))
	}
	serves()
	p.kill()
	p.start()
	serves()
	for _, m := range others {
		m.start()
	}
	s.wait("whole again", s.whole)
	s.again()
	s.clients.check(t)
}
