package agent

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// restart is a way in which all members end at once and come back.
type restart struct {
	// ordered says that each is asked to end, as a pod is that is deleted. Otherwise all crash.
	ordered bool
	// order is who comes back first: 0 is the primary that was, 1 and 2 are the others.
	order []int
	// late is how long the others are alone before the last one comes.
	late time.Duration
}

const (
	// alone is longer than the group waits for the last primary after a restart of all.
	alone = 38 * time.Second
	// backWithin is the longest time without a write once all are started.
	backWithin = 20 * time.Second
)

func (r restart) String() string {
	end := "all crash"
	if r.ordered {
		end = "all stop"
	}
	return fmt.Sprintf("%s and come back as %v, the last one %s late", end, r.order, r.late)
}

// waitsFor says that the others can't know what the primary had acknowledged, and so nobody leads until it is back.
// They know that after a stop in order. A replica of PostgreSQL reads it after a crash, too, and with async durability
// what may be lacking is bounded.
func (s *story) waitsFor(r restart) bool {
	_, counts := s.engine.(postgres)
	return r.order[2] == 0 && !r.ordered && !counts && s.options.durability != protocol.Async
}

// restart ends all members and brings them back.
func (s *story) restart(r restart) {
	s.t.Helper()
	first := s.awaitPrimary()
	all := append([]*member{first}, s.replicas(first)...)
	var ending sync.WaitGroup
	for _, m := range all {
		if r.ordered {
			ending.Go(m.stop)
		} else {
			ending.Go(m.kill)
		}
	}
	ending.Wait()
	all[r.order[0]].start()
	time.Sleep(time.Duration(s.random.IntN(1500)) * time.Millisecond)
	all[r.order[1]].start()
	last := all[r.order[2]]
	if r.late > 0 {
		s.without(last, r)
	} else {
		time.Sleep(time.Duration(s.random.IntN(1500)) * time.Millisecond)
	}
	last.start()
	if took := s.clients.flows(); took > backWithin {
		s.t.Errorf("writes go on %s after all are back", took)
	}
	if now := s.primary(); now != nil && now != first && s.waitsFor(r) {
		s.t.Errorf("%s leads, and only %s has all that was acknowledged", now.id, first.id)
	}
}

// without has a restarted cluster be without one member for a while.
func (s *story) without(last *member, r restart) {
	s.t.Helper()
	began, acknowledged := time.Now(), s.clients.count()
	if !s.waitsFor(r) {
		s.again()
		s.t.Logf("  without %s writes go on after %s", last.id, time.Since(began).Truncate(10*time.Millisecond))
		return
	}
	s.wait("the others to say for whom they wait", func() bool {
		return slices.ContainsFunc(s.members, func(m *member) bool {
			st := m.status()
			return st != nil && strings.Contains(st.Blocked, string(last.id)) && time.Since(began) >= r.late
		})
	})
	if n := s.clients.count() - acknowledged; n > 0 {
		s.t.Errorf("%d rows are acknowledged while only %s has all that was", n, last.id)
	}
}

// TestRestarts ends all members at once, and brings them back in each order. Who lacks something that was acknowledged
// does not lead: with strict durability nothing is lost, with the others no more than they allow.
func TestRestarts(t *testing.T) {
	if !torture() && !*allFlag {
		t.Skip("-all is not set")
	}
	restarts(t, postgres{})
}

// TestRestartsValkey does the same with Valkey or Redis.
func TestRestartsValkey(t *testing.T) { restarts(t, valkey{}) }

func restarts(t *testing.T, e engine) {
	orders := [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	var all []restart
	for _, ordered := range []bool{false, true} {
		for _, order := range orders {
			all = append(all, restart{ordered: ordered, order: order})
		}
		all = append(all, restart{ordered: ordered, order: orders[0], late: alone},
			restart{ordered: ordered, order: orders[5], late: alone})
	}
	durabilities := []protocol.Durability{protocol.Strict, protocol.Preferred, protocol.Async}
	if !torture() && !*allFlag { // the primary is last, and the others wait for it
		all, durabilities = []restart{{order: orders[5], late: 2 * timing().Lease}}, durabilities[:1]
	}
	for _, d := range durabilities {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			s := begin(t, options{durability: d, members: 3, engine: e}, *seedFlag)
			for _, r := range all {
				s.make(trouble{r.String(), func(s *story) { s.restart(r) }})
			}
			s.clients.check(t)
		})
	}
}
