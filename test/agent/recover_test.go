package agent

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestRecover loses two of three members for good. The third begins another incarnation, to which new members come; one
// of the old ones that returns is not heard.
func TestRecover(t *testing.T) {
	t.Parallel()
	s := begin(t, options{durability: protocol.Preferred, members: 3}, 1)
	p := s.awaitPrimary()
	others := s.replicas(p)
	survivor, lost := others[0], []*member{p, others[1]}
	request := api.Recover{Token: "next", Dead: []protocol.MemberID{p.id, others[1].id}}
	recover := func(r api.Recover) error {
		return s.ask(survivor, func(ctx context.Context, c *api.Client) error { return c.Recover(ctx, r) })
	}
	refused := func(why string, r api.Recover) {
		t.Helper()
		if err := recover(r); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("it is not refused because %q: %v", why, err)
		}
	}
	refused("has a leader", request)
	for _, m := range lost {
		m.kill()
	}
	s.wait("no leader", func() bool {
		st := survivor.status()
		return st != nil && !st.Quorum && !st.Server.Unread
	})
	refused("are a majority", api.Recover{Token: "next", Dead: []protocol.MemberID{p.id}})
	refused("a token of its own", api.Recover{Token: "token", Dead: request.Dead})
	refused("it answers", api.Recover{Token: "next", Dead: append(slices.Clone(request.Dead), survivor.id)})
	var why error
	t.Cleanup(func() { t.Log("the last refusal:", why) })
	s.wait("the others are silent", func() bool {
		why = recover(request)
		return why != nil && strings.Contains(why.Error(), "may lose acknowledged writes")
	})
	request.Lose = true
	if err := recover(request); err != nil {
		t.Fatal(err)
	}
	s.wait("the survivor leaves", func() bool { return survivor.status() == nil })
	survivor.kill()
	survivor.start() // with the token of the incarnation that it left
	s.wait("it says so", func() bool {
		return strings.Contains(survivor.lastWords(), "start it with the token of the new one")
	})
	if survivor.status() != nil {
		t.Error("the survivor comes back to the incarnation that it left")
	}
	survivor.kill()
	survivor.token, survivor.initial = "next", false
	s.members = []*member{survivor}
	survivor.start()
	s.wait("the survivor serves", func() bool { return s.primary() == survivor })
	s.clients.flows()
	p.start()
	for _, m := range s.spare {
		m.token = "next"
		if err := s.ask(survivor, func(ctx context.Context, c *api.Client) error {
			return c.AddMember(ctx, api.NewMember{ID: m.id})
		}); err != nil {
			t.Fatal(err)
		}
		s.members = append(s.members, m)
		m.start()
	}
	s.gone, s.spare = append(s.gone, lost...), nil
	s.wait("three members", s.whole)
	st := survivor.known()
	if st.Token != "next" || len(st.Members) != 3 || !survivor.reports("another incarnation") {
		t.Errorf("the incarnation is %s of %v; %s", st.Token, st.Members, survivor.lastWords())
	}
	s.clients.check(t)
}

// reports says whether the agent of a member told something.
func (m *member) reports(what string) bool { return strings.Contains(m.lastWords(), what) }
