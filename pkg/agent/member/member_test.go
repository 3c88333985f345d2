package member

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// cluster is three members with servers that replicate at once, and a log that all of them agree on at once.
type cluster struct {
	t       *testing.T
	origin  time.Time
	members map[protocol.MemberID]*place

	mu  sync.Mutex
	log []protocol.Entry
	// acks are the writes that a client was told of, with their generation.
	acks []row
}

type row struct {
	number     int
	generation protocol.Generation
}

func (c *cluster) now() protocol.Instant { return protocol.Instant(time.Since(c.origin)) }

// write adds a row at every server that takes writes and gives it to its replicas.
func (c *cluster) write() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.members {
		if p.server.Role != protocol.Primary {
			continue
		}
		if !p.deadline.Unlimited && c.now() >= p.deadline.At {
			c.t.Errorf("the server of %s runs after its deadline", p.id)
		}
		r := row{number: len(p.rows), generation: p.server.Generation}
		p.rows = append(p.rows, r)
		c.acks = append(c.acks, r)
		for _, o := range c.members {
			if o.server.Upstream == p.id && o.server.Generation == p.server.Generation {
				o.rows = append(o.rows, r)
			}
		}
	}
}

// primary returns who takes writes, once there is somebody else than before.
func (c *cluster) primary(not protocol.MemberID) protocol.MemberID {
	c.t.Helper()
	since := time.Now()
	for {
		c.write()
		time.Sleep(20 * time.Millisecond)
		var primaries []protocol.MemberID
		c.mu.Lock()
		for id, p := range c.members {
			if p.server.Role == protocol.Primary {
				primaries = append(primaries, id)
			}
		}
		c.mu.Unlock()
		if len(primaries) > 1 {
			c.t.Fatalf("%v accept writes", primaries)
		}
		if len(primaries) == 1 && primaries[0] != not {
			c.t.Logf("%s after %s", primaries[0], time.Since(since))
			return primaries[0]
		}
		if time.Since(since) > time.Minute {
			for id, p := range c.members {
				if p.member != nil {
					p.member.View(func(n *protocol.Node) {
						c.t.Logf("%s: %q, phase %s, primary %s", id, n.Blocked(), n.Document().Phase, n.Document().Primary)
					})
				}
			}
			c.t.Fatal("nobody accepts writes")
		}
	}
}

func (c *cluster) settle(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		c.write()
	}
}

// lead makes one member the leader of the group.
func (c *cluster) lead(leader protocol.MemberID) {
	for id, p := range c.members {
		if p.member != nil {
			p.member.Deliver(protocol.Led{Leading: id == leader})
		}
	}
}

// found founds a cluster of three, which m3 leads.
func found(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, origin: time.Now(), members: map[protocol.MemberID]*place{}}
	founding := &protocol.Found{Token: "token", Settings: protocol.Settings{
		Timing: protocol.DefaultTiming(), Durability: protocol.Async, MaxLag: 1000,
	}}
	for _, id := range []protocol.MemberID{"m1", "m2", "m3"} {
		founding.InitialMembers = append(founding.InitialMembers, protocol.InitialMember{ID: id})
		c.members[id] = &place{cluster: c, id: id}
	}
	for _, p := range c.members {
		p.boot(founding)
	}
	c.members["m1"].Propose(&protocol.Configured{Voters: []protocol.MemberID{"m1", "m2", "m3"}})
	c.lead("m3")
	return c
}

// TestFailing: a member says why its server does what was asked of it not, until it does.
func TestFailing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := found(t)
		p := c.members[c.primary("")]
		c.settle(time.Second)
		if why := p.member.Failing(); why != "" {
			t.Errorf("it fails: %s", why)
		}
		c.mu.Lock()
		for _, p := range c.members {
			p.server.Role, p.fails = protocol.Stopped, errors.New("no room")
		}
		c.mu.Unlock()
		c.settle(20 * time.Second)
		if why := p.member.Failing(); !strings.HasSuffix(why, ": no room") {
			t.Errorf("it fails: %q", why)
		}
		c.mu.Lock()
		for _, p := range c.members {
			p.fails = nil
		}
		c.mu.Unlock()
		c.settle(20 * time.Second)
		if why := p.member.Failing(); why != "" {
			t.Errorf("it fails still: %s", why)
		}
		for _, p := range c.members {
			p.kill()
		}
	})
}

// TestEnds: what comes between two tries does not hide why they fail.
func TestEnds(t *testing.T) {
	t.Parallel()
	var m Member
	for _, step := range []struct {
		kind protocol.JobKind
		err  error
		want string
	}{
		{protocol.Promote, errors.New("no room"), "promote: no room"},
		{protocol.StopNow, nil, "promote: no room"},
		{protocol.Cut, nil, "promote: no room"},
		{protocol.Promote, nil, ""},
		{protocol.Clone, errors.New("no primary"), "clone: no primary"},
		{protocol.Clone, nil, ""},
		{protocol.Cut, errors.New("no room"), "cut: no room"},
		{protocol.Follow, nil, ""},
	} {
		m.ends(protocol.Job{Kind: step.kind}, step.err)
		if got := m.Failing(); got != step.want {
			t.Errorf("after %s with %v: %q, want %q", step.kind, step.err, got, step.want)
		}
	}
}

// TestMember founds a cluster of three, switches over, loses the server of the primary, then its whole pod.
func TestMember(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := found(t)
		first := c.primary("")
		c.settle(3 * time.Second)
		target := protocol.MemberID("m2")
		c.members[first].member.Ask(protocol.Intent{Target: target, Why: "test"})
		if now := c.primary(first); now != target {
			t.Fatalf("%s is the primary after a switchover to %s", now, target)
		}
		c.settle(3 * time.Second)
		c.mu.Lock()
		c.members[target].server.Role = protocol.Stopped // as after a crash of the server
		c.mu.Unlock()
		next := c.primary("")
		c.settle(3 * time.Second)
		leader := protocol.MemberID("m3")
		if next == leader {
			leader = "m1"
		}
		c.members[next].kill()
		c.lead(leader)
		last := c.primary(next)
		c.members[next].boot(nil)
		c.lead(leader)
		c.settle(3 * time.Second)
		c.mu.Lock()
		if up := c.members[next].server.Upstream; up != last {
			t.Errorf("%s follows %q after its return, not %s", next, up, last)
		}
		if len(c.acks) != len(c.members[last].rows) {
			t.Errorf("%d writes were acknowledged, %d are there", len(c.acks), len(c.members[last].rows))
		}
		for i, r := range c.acks {
			if i > 0 && r.generation < c.acks[i-1].generation {
				t.Errorf("write %d of generation %d comes after one of generation %d", i, r.generation, c.acks[i-1].generation)
			}
		}
		t.Logf("%d writes", len(c.acks))
		c.mu.Unlock()
		for _, p := range c.members {
			p.kill()
		}
	})
}
