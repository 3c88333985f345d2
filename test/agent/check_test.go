package agent

import (
	"maps"
	"slices"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// check stops the clients and compares what they were told with what the members hold.
func (c *clients) check(t *testing.T) {
	t.Helper()
	c.stop()
	c.all.Wait()
	s := c.site
	timelines := s.engine.timelines(s)
	for i, r := range c.acked {
		known := false
		if c.acked[i].timeline, known = timelines(r.history); !known {
			t.Errorf("row %d was acknowledged by a server with the history %s, which no agent promoted", r.id, r.history)
		}
	}
	c.order(t)
	s.wait("every member streams", s.whole)
	// A write whose client is gone may still wait for a standby, and is seen once one acknowledges.
	var held map[int]bool
	s.wait("every member holds the same rows", func() bool {
		held = c.rows(s.members[0])
		return !slices.ContainsFunc(s.members[1:], func(m *member) bool { return !maps.Equal(held, c.rows(m)) })
	})
	for id := range held {
		if !c.asked[id] {
			t.Errorf("nobody wrote row %d", id)
		}
	}
	lost := map[uint64]int{}
	var bytes uint64
	// first is the place of the first row of a timeline that was acknowledged, last of the last one that is held.
	first, last := map[uint64]uint64{}, map[uint64]uint64{}
	for _, r := range c.acked {
		if at, seen := first[r.timeline]; !seen || r.place < at {
			first[r.timeline] = r.place
		}
		if held[r.id] {
			last[r.timeline] = max(last[r.timeline], r.place)
		}
	}
	for _, r := range c.acked {
		if held[r.id] {
			continue
		}
		lost[r.timeline]++
		at, some := last[r.timeline]
		switch {
		case !some:
			bytes = max(bytes, r.place-first[r.timeline])
		case r.place > at:
			bytes = max(bytes, r.place-at)
		default:
			t.Errorf("row %d of timeline %d at %d is lost, although one at %d is held", r.id, r.timeline, r.place, at)
		}
	}
	t.Logf("%s: %d rows acknowledged, %d held, lost by timeline %v (at most %d bytes)", s.options.durability,
		len(c.acked),
		len(held), lost, bytes)
	if len(lost) > 0 && s.options.durability == protocol.Strict {
		t.Errorf("acknowledged rows are lost: %v", lost)
	}
	if bytes > s.settings.MaxLag {
		t.Errorf("%d bytes are lost, more than maxLag", bytes)
	}
}

// late says that a row was acknowledged by a server that went on together with its guard, within the time that the
// guard has for killing it. An engine that waits for no standby can't prevent that, but its agent does where
// clients go through it. The row counts as lost if it is.
func (c *clients) late(r row) bool {
	s := c.site
	allowed := !s.options.proxied && s.engine.answersLate(s.options.durability)
	return allowed && slices.ContainsFunc(c.thaws,
		func(t thaw) bool {
			return t.member == r.member && r.end > t.at && r.end < t.at+s.settings.Timing.KillAndReap
		})
}

// order checks that no two members acknowledged at the same time: once a row of a timeline was acknowledged, no row of
// an earlier timeline is, if it was written later.
func (c *clients) order(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	rows := slices.DeleteFunc(slices.Clone(c.acked), c.late)
	if n := len(c.acked) - len(rows); n > 0 {
		t.Logf("%d rows were acknowledged by a server that went on after a freeze, before its guard killed it", n)
	}
	slices.SortFunc(rows, func(a, b row) int { return int(a.began - b.began) })
	byEnd := slices.Clone(rows)
	slices.SortFunc(byEnd, func(a, b row) int { return int(a.end - b.end) })
	i := 0
	var newest row
	for _, r := range rows {
		for ; i < len(byEnd) && byEnd[i].end < r.began; i++ {
			if byEnd[i].timeline > newest.timeline {
				newest = byEnd[i]
			}
		}
		if r.timeline < newest.timeline {
			t.Errorf("%s acknowledged row %d on timeline %d, written %s after %s had acknowledged on timeline %d", r.member,
				r.id, r.timeline, r.began-newest.end, newest.member, newest.timeline)
			return
		}
	}
}

// rows waits until a member holds what the primary holds, and returns it.
func (c *clients) rows(m *member) map[int]bool {
	s := c.site
	var held map[int]bool
	s.wait("the rows of "+string(m.id), func() bool {
		p := s.primary()
		if p == nil {
			return false
		}
		var err error
		held, err = s.engine.rows(p, m)
		return err == nil
	})
	return held
}

// whole says that there is a primary, that every other member streams from it, and that one set is in force.
func (s *site) whole() bool {
	p := s.primary()
	if p == nil {
		return false
	}
	st := p.status()
	if st == nil || st.Changing || len(st.Server.Standbys) < len(s.members)-1 {
		return false
	}
	if s.options.durability != protocol.Async && len(st.Set.Standbys) < len(s.members)-1 {
		return false
	}
	// A copy that was made again takes the place of the old one in the set a moment after it streams. Until then nobody
	// follows a primary that is lost: the old one may hold what was acknowledged.
	if s.options.durability != protocol.Async && slices.ContainsFunc(st.Server.Standbys, func(o protocol.Streaming) bool {
		return !slices.Contains(st.Set.Standbys, o.Standby)
	}) {
		return false
	}
	for _, m := range s.members {
		if o := m.status(); o == nil || o.Generation != st.Generation || m != p && o.Server.Upstream != p.id {
			return false
		}
	}
	return true
}
