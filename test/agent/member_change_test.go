package agent

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// writableWithin is how soon writes go on after one of the members is lost while they change.
const writableWithin = 12 * time.Second

// change asks any member for a change of the members, has another one crash at any moment of that, and repeats the
// request until it is agreed on.
func (s *story) change(what string, do func(context.Context, *api.Client) error, agreed func(*api.Status) bool) {
	s.t.Helper()
	through, lost := s.members[s.random.IntN(len(s.members))], s.members[s.random.IntN(len(s.members))]
	asked := make(chan error, 1)
	go func() { asked <- s.ask(through, do) }()
	time.Sleep(time.Duration(s.random.IntN(400)) * time.Millisecond)
	lost.kill()
	if took := s.clients.flows(); took > writableWithin {
		s.t.Errorf("%s: writes go on %s after %s was lost", what, took, lost.id)
	}
	lost.start()
	s.t.Logf("  %s, asked of %s while %s crashes: %v", what, through.id, lost.id, <-asked)
	s.wait(what, func() bool {
		p := s.primary()
		if p == nil {
			return false
		}
		if st := p.status(); st != nil && agreed(st) {
			return true
		}
		_ = s.ask(p, do)
		return false
	})
}

// TestMemberChanges adds members and removes others, and has a member crash at any moment of that. Writes go on,
// nothing is lost, and in the end an odd number of members votes.
func TestMemberChanges(t *testing.T) {
	if !torture() && !*allFlag {
		t.Skip("-all is not set")
	}
	stories := uint64(1)
	if torture() {
		stories = 20
	}
	for seed := *seedFlag; seed < *seedFlag+stories; seed++ {
		t.Run(fmt.Sprintf("strict-%d", seed), func(t *testing.T) {
			t.Parallel()
			s := begin(t, options{durability: protocol.Strict, members: 3}, seed)
			for range len(s.spare) {
				s.make(trouble{"a member is added, and another one removed", (*story).exchange})
			}
			s.wait("three votes", func() bool {
				st := s.awaitPrimary().status()
				return st != nil && len(slices.DeleteFunc(st.Members, func(m api.Member) bool { return !m.Voter })) == 3
			})
			s.clients.check(t)
		})
	}
}

// exchange adds a spare member and removes one that is not the primary.
func (s *story) exchange() {
	next := s.spare[0]
	has := func(id protocol.MemberID) func(*api.Status) bool {
		return func(st *api.Status) bool {
			return slices.ContainsFunc(st.Members, func(m api.Member) bool { return m.ID == id })
		}
	}
	s.change(string(next.id)+" is added", func(ctx context.Context, c *api.Client) error {
		return c.AddMember(ctx, api.NewMember{ID: next.id})
	}, has(next.id))
	next.start()
	s.clients.join(next)
	s.spare, s.members = s.spare[1:], append(s.members, next)
	s.wait("whole with "+string(next.id), s.whole)
	gone := s.replicas(s.awaitPrimary())[0]
	s.change(string(gone.id)+" is removed", func(ctx context.Context, c *api.Client) error {
		if p := s.primary(); p == gone { // the crash made it the primary
			return c.Switchover(ctx, api.Switchover{Target: next.id, Why: "test"})
		}
		return c.RemoveMember(ctx, gone.id)
	}, func(st *api.Status) bool { return !has(gone.id)(st) })
	gone.kill()
	s.members = slices.DeleteFunc(s.members, func(m *member) bool { return m == gone })
	s.gone = append(s.gone, gone)
	s.again()
}
