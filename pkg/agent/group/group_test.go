package group

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestGroup agrees through a follower, loses its leader, agrees again, and takes the leader back.
func TestGroup(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	groups := s.openAll()
	s.wait("a leader", func() bool { return leader(groups) != nil })
	first := leader(groups)
	rest := others(groups, first)
	s.found(rest[0])
	s.joined(rest[1], 5, initialMembers...)
	before := time.Now()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	s.wait("another leader", func() bool { return leader(rest) != nil })
	t.Logf("another leader after %s", time.Since(before))
	s.joined(rest[0], 6, ids(rest)...)
	back := s.open(first.config.ID, nil)
	if number, _, last := back.Start(); number != 2 || last == 0 {
		t.Errorf("start %d, last index %d", number, last)
	}
	s.joined(back, 7, initialMembers...)
}

// hangingStore hangs when it is told to.
type hangingStore struct {
	durable
	mu sync.Mutex
}

func (h *hangingStore) StoreLogs(logs []*raft.Log) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.durable.StoreLogs(logs)
}

// TestHangingLog hangs the log of the leader: another takes over, and the first comes back once its disk works.
func TestHangingLog(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	disks := map[protocol.MemberID]*hangingStore{}
	var groups []*Group
	for _, id := range initialMembers {
		groups = append(groups, s.open(id, func(c *Config) {
			c.wrap = func(inner durable) durable {
				disks[id] = &hangingStore{durable: inner}
				return disks[id]
			}
		}))
	}
	s.wait("a leader", func() bool { return leader(groups) != nil })
	s.found(groups[0])
	first := leader(groups)
	rest := others(groups, first)
	hanging := disks[first.config.ID]
	hanging.mu.Lock()
	first.Propose(&protocol.Joined{Member: "m1", Start: 8, Level: 1})
	took := s.wait("another leader", func() bool { return leader(rest) != nil })
	t.Logf("another leader after %s", took)
	s.joined(rest[0], 9, ids(rest)...)
	s.wait("somebody is told", func() bool { return s.reported("the disk of the group stalls") })
	hanging.mu.Unlock()
	s.joined(rest[1], 10, initialMembers...)
	if !s.reported("works again") {
		t.Error("nobody was told")
	}
}

// highTerm is the store of a member that has seen many elections.
type highTerm struct{ durable }

func (h highTerm) GetUint64(key []byte) (uint64, error) {
	if last, err := h.LastIndex(); err != nil || last == 0 || string(key) != "CurrentTerm" {
		return h.durable.GetUint64(key)
	}
	return 1000, nil
}

// TestIntruders refuses another incarnation, another authority, another name, and a volume that was emptied, each with
// a higher term, which would depose the leader and cut its log.
func TestIntruders(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	groups := s.openAll()
	s.wait("a leader", func() bool { return leader(groups) != nil })
	s.found(groups[0])
	s.joined(groups[0], 5, initialMembers...)
	gone := others(groups, leader(groups))[0]
	rest := others(groups, gone)
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	id := gone.config.ID
	directory := s.dirs[id]
	for _, c := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"another incarnation", func(c *Config) { c.Token = "other" }, "another incarnation"},
		{"another authority", func(c *Config) {
			c.Identity = s.identity(newAuthority(t).sign(t, id, time.Now().Add(time.Hour)))
		}, "unknown authority"},
		{"another name", func(c *Config) {
			c.Identity = s.identity(s.authority.sign(t, "m9", time.Now().Add(time.Hour)))
		}, "not " + string(id)},
		{"an emptied volume", func(*Config) {}, "its volume was emptied or rolled back"},
	} {
		s.dirs[id] = t.TempDir()
		intruder := s.open(id, func(config *Config) {
			c.change(config)
			config.wrap = func(inner durable) durable { return highTerm{inner} }
		})
		s.wait(c.name+" is refused", func() bool { return s.reported(c.want) })
		if err := intruder.Close(); err != nil {
			t.Error(err)
		}
	}
	if now := rest[0].raft.CurrentTerm(); now >= 1000 {
		t.Errorf("an intruder brought term %d", now)
	}
	s.dirs[id] = directory
	expired := func(c *Config) { c.Identity = s.identity(s.authority.sign(t, id, time.Now().Add(-time.Minute))) }
	s.joined(s.open(id, expired), 6, initialMembers...)
	if !s.reported("is not valid now") {
		t.Error("an expired certificate is not reported")
	}
}

// TestMembers adds a member that has no data of the group, and gives and takes votes.
func TestMembers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	groups := s.openAll()
	s.wait("a leader", func() bool { return leader(groups) != nil })
	s.found(groups[0])
	all := append(slices.Clone(initialMembers), "m4")
	s.open("m4", func(c *Config) { c.Bootstrap = nil })
	four := func(d *protocol.Document) bool { return len(d.Members) == 4 }
	s.agreed(groups[0], &protocol.AddMember{Member: "m4"}, four, all...)
	lead := leader(groups)
	follower := others(groups, lead)[0].config.ID
	lead.GiveVote("m4")
	s.wait("four votes", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.documents["m4"].Voters) == 4
	})
	lead.TakeVote(follower)
	s.wait("three votes", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.documents["m4"].Voters) == 3 && !slices.Contains(s.documents["m4"].Voters, follower)
	})
}

// TestSnapshot restarts a member from a snapshot.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	groups := s.openAll()
	s.wait("a leader", func() bool { return leader(groups) != nil })
	s.found(groups[0])
	s.joined(groups[0], 5, initialMembers...)
	if err := groups[1].raft.Snapshot().Error(); err != nil {
		t.Fatal(err)
	}
	if err := groups[1].Close(); err != nil {
		t.Fatal(err)
	}
	s.open("m2", nil)
	s.joined(groups[0], 6, initialMembers...)
}

// fullStore has no room for a while.
type fullStore struct {
	durable
	room   bool
	writes int
}

func (f *fullStore) SetUint64(key []byte, value uint64) error {
	f.writes++
	if !f.room {
		return fmt.Errorf("write: %w", syscall.ENOSPC)
	}
	return nil
}

// TestFullDisk frees the ballast and goes on; raft would panic at an error.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	full := &fullStore{}
	s := &store{durable: full, busy: map[int]time.Time{}}
	freed := 0
	s.free = func() {
		if freed++; freed == 3 {
			full.room = true
		}
	}
	if err := s.SetUint64([]byte("term"), 7); err != nil || freed != 3 || full.writes != 4 {
		t.Errorf("%v after %d writes, freed %d times", err, full.writes, freed)
	}
	if s.stalled(time.Now().Add(time.Hour)) {
		t.Error("an operation that ended counts as stalled")
	}
}

func TestPeers(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/peers"
	p, err := openPeers("token", path)
	if err != nil {
		t.Fatal(err)
	}
	was := hello{Version: 1, Token: "token", ID: "m2", Start: start{5, 50}, Log: position{3, 100}}
	if err := p.remember(was, "10.0.0.2:1"); err != nil {
		t.Fatal(err)
	}
	if p, err = openPeers("token", path); err != nil || p.address("m2") != "10.0.0.2:1" {
		t.Fatalf("forgotten: %v", err)
	}
	for _, c := range []struct {
		name string
		h    hello
		want string
	}{
		{"the same start", hello{1, "token", "m2", start{5, 50}, position{3, 90}, forRaft, ""}, ""},
		{"the next start", hello{1, "token", "m2", start{6, 60}, position{3, 100}, forRaft, ""}, ""},
		{"a log that was cut by a later leader", hello{1, "token", "m2", start{6, 60}, position{4, 90}, forRaft, ""}, ""},
		{"an older start", hello{1, "token", "m2", start{4, 40}, position{3, 100}, forRaft, ""}, "emptied or rolled back"},
		{
			"the same number of another start", hello{1, "token", "m2", start{5, 51}, position{3, 100}, forRaft, ""},
			"emptied or rolled back",
		},
		{"less log", hello{1, "token", "m2", start{6, 60}, position{3, 99}, forRaft, ""}, "rolled back"},
		{"another incarnation", hello{1, "other", "m3", start{1, 1}, position{9, 900}, forRaft, ""}, "another incarnation"},
		{"another version", hello{2, "token", "m3", start{1, 1}, position{}, forRaft, ""}, "version 2"},
		{"somebody new", hello{1, "token", "m3", start{1, 1}, position{}, forRaft, ""}, ""},
	} {
		switch err := p.check(c.h); {
		case err == nil && c.want != "":
			t.Errorf("%s is accepted", c.name)
		case err != nil && (c.want == "" || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestNamesResolveLate has a member that can't resolve the names of the others: it reaches those that connected to it.
func TestNamesResolveLate(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	m1 := s.open("m1", func(c *Config) {
		right := c.Address
		c.Address = func(id protocol.MemberID) string {
			_, port, _ := net.SplitHostPort(right(id))
			return net.JoinHostPort(string(id)+".invalid", port)
		}
	})
	if _, err := m1.Dial("m2", forMessages); err == nil {
		t.Fatal("m2 is reached although its name resolves to nothing")
	}
	groups := []*Group{m1, s.open("m2", nil), s.open("m3", nil)}
	s.wait("a leader", func() bool { return leader(groups) != nil })
	for _, id := range []protocol.MemberID{"m2", "m3"} {
		s.wait("m1 reaches "+string(id), func() bool {
			c, err := m1.Dial(id, forMessages)
			if err != nil {
				return false
			}
			return c.Close() == nil
		})
	}
}

// TestSilentDNS has nobody answer questions for names: a member is reached where it proved itself last.
func TestSilentDNS(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	m1 := s.open("m1", func(c *Config) {
		c.find = func(ctx context.Context, address string) ([]string, error) {
			<-ctx.Done()
			return nil, fmt.Errorf("resolve %s: %w", address, &net.DNSError{Err: "no answer", IsTimeout: true})
		}
	})
	if _, err := m1.network.dial("m2", forRaft, time.Second); err == nil {
		t.Fatal("m2 is reached although nobody tells where it is")
	}
	s.open("m2", nil)
	s.wait("m1 connects to m2", func() bool {
		c, err := m1.network.dial("m2", forRaft, time.Second)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
}
