package group

import (
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// TestLostVote: a leader takes the vote of a member while another one is away, and is lost. The two that are left are a
// majority of those that voted until then.
func TestLostVote(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	groups := s.openAll()
	s.found(groups[0])
	var lead *Group
	s.wait("a leader", func() bool { lead = leader(groups); return lead != nil })
	s.joined(lead, 1, initialMembers...)
	rest := others(groups, lead)
	if err := rest[0].Close(); err != nil {
		t.Fatal(err)
	}
	before := lead.raft.LastIndex()
	lead.TakeVote(rest[1].config.ID)
	s.wait("the change to be in the log of the leader", func() bool { return lead.raft.LastIndex() > before })
	time.Sleep(10 * withheldPause) // in which the member would have it, too
	if err := lead.Close(); err != nil {
		t.Fatal(err)
	}
	rest[0] = s.open(rest[0].config.ID, nil)
	took := s.wait("another leader", func() bool { return leader(rest) != nil })
	t.Logf("after %s", took)
}

// TestWithhold: a request brings what is before a change that takes its follower's vote, and that once it is agreed.
func TestWithhold(t *testing.T) {
	t.Parallel()
	entry := func(index uint64, voters ...raft.ServerID) *raft.Log {
		var c raft.Configuration
		for _, id := range []raft.ServerID{"m1", "m2", "m3"} {
			s := raft.Server{ID: id, Address: raft.ServerAddress(id), Suffrage: raft.Nonvoter}
			for _, v := range voters {
				if v == id {
					s.Suffrage = raft.Voter
				}
			}
			c.Servers = append(c.Servers, s)
		}
		return &raft.Log{Index: index, Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(c)}
	}
	other := func(index uint64) *raft.Log { return &raft.Log{Index: index} }
	tests := []struct {
		name    string
		entries []*raft.Log
		agreed  uint64
		left    int
		all     bool
	}{
		{"none", nil, 0, 0, false},
		{"no change", []*raft.Log{other(5), other(6)}, 4, 2, false},
		{"another one's vote", []*raft.Log{entry(5, "m2", "m3")}, 4, 1, false},
		{"its vote", []*raft.Log{entry(5, "m1", "m3"), other(6)}, 4, 0, true},
		{"its vote, later", []*raft.Log{other(5), entry(6, "m1", "m3"), other(7)}, 4, 1, false},
		{"its vote, agreed", []*raft.Log{entry(5, "m1", "m3"), other(6)}, 5, 2, false},
	}
	for _, test := range tests {
		args := &raft.AppendEntriesRequest{Entries: test.entries, LeaderCommitIndex: test.agreed}
		if all := withhold("m2", args); all != test.all || len(args.Entries) != test.left {
			t.Errorf("%s: %t, %d entries are left, want %t, %d", test.name, all, len(args.Entries), test.all, test.left)
		}
	}
}
