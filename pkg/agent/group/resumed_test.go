package group

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestResumed: a follower that was away learns what is agreed as soon as it is back.
func TestResumed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	groups := s.openAll()
	s.found(groups[0])
	var lead *Group
	s.wait("a leader", func() bool { lead = leader(groups); return lead != nil })
	away := others(groups, lead)[0]
	if err := away.Close(); err != nil {
		t.Fatal(err)
	}
	// Each entry has the library try again. After these 12 s it would not for several seconds.
	for n := range 240 {
		lead.Propose(&protocol.Joined{Member: "m1", Start: uint64(n + 1), Level: 1})
		time.Sleep(50 * time.Millisecond)
	}
	s.joined(lead, 1000, ids(others(groups, away))...)
	began := time.Now()
	back := s.open(away.config.ID, nil)
	s.joined(lead, 1000, back.config.ID)
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("%s learnt of it %s after its start", back.config.ID, took)
	}
}

// TestSilentFollower: what waits for a follower ends with an answer, and with the office of the leader.
func TestSilentFollower(t *testing.T) {
	const id raft.ServerID = "m2"
	for name, c := range map[string]struct {
		change func(r *resumed, follows *atomic.Bool)
		want   error
	}{
		"answered":           {func(r *resumed, _ *atomic.Bool) { r.heard(id, true) }, nil},
		"leads no more":      {func(_ *resumed, follows *atomic.Bool) { follows.Store(false) }, errSilent},
		"leads another time": {func(r *resumed, _ *atomic.Bool) { r.leads(4) }, errSilent},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var follows atomic.Bool
				follows.Store(true)
				r := newResumed(nil, func(raft.ServerID) bool { return follows.Load() })
				r.leads(3)
				if err := r.await(id, 3); err != nil {
					t.Errorf("nothing was sent yet: %v", err)
				}
				r.heard(id, false)
				r.heard(id, false)
				began := time.Now()
				go func() {
					time.Sleep(time.Minute)
					c.change(r, &follows)
				}()
				err := r.await(id, 3)
				if took := time.Since(began); !errors.Is(err, c.want) || took < time.Minute || took > time.Minute+followTime {
					t.Errorf("after %s: %v", took, err)
				}
			})
		})
	}
}

// TestFollows: nothing waits for who is no member, at who does not lead, or once the group is closed.
func TestFollows(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	groups := s.openAll()
	var lead *Group
	s.wait("a leader", func() bool { lead = leader(groups); return lead != nil && lead.leads.Load() })
	other := others(groups, lead)[0]
	follows := func(g *Group, id protocol.MemberID) bool { return g.follows(raft.ServerID(id)) }
	if !follows(lead, other.config.ID) || follows(lead, "m9") || follows(other, lead.config.ID) {
		t.Error("who leads is followed by the members, and nobody else is")
	}
	if err := lead.Close(); err != nil {
		t.Fatal(err)
	}
	if follows(lead, other.config.ID) {
		t.Error("it is closed")
	}
}
