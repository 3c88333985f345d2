package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// primary is who serves, as far as this member knows; "" for nobody.
func (s *Service) primary() (primary protocol.MemberID) {
	s.Agent.View(func(n *protocol.Node) {
		if d := n.Document(); d.Phase == protocol.Serving {
			primary = d.Primary
		}
	})
	return primary
}

// switchover is for the agent of the primary.
func (s *Service) switchover(w http.ResponseWriter, r *http.Request) {
	var body Switchover
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		finish(w, Refused{Why: "the request can't be read: " + err.Error()})
		return
	}
	finish(w, s.hand(r.Context(), body))
}

// hand gives the part of the primary to the target, and waits until that serves.
func (s *Service) hand(ctx context.Context, body Switchover) error {
	ctx, stop := context.WithTimeout(ctx, requestTimeout)
	defer stop()
	var from protocol.Generation
	var refused error
	var refusals int
	s.Agent.View(func(n *protocol.Node) {
		from, refused = n.Document().Generation, protocol.FitTarget(n.Document(), body.Target)
		refusals, _ = n.Refusal()
	})
	if refused != nil {
		return Refused{Why: refused.Error()}
	}
	s.Agent.Ask(protocol.Intent{Target: body.Target, Why: body.Why})
	for {
		var now protocol.Generation
		var primary protocol.MemberID
		var phase protocol.Phase
		var count int
		var why string
		s.Agent.View(func(n *protocol.Node) {
			d := n.Document()
			now, primary, phase = d.Generation, d.Primary, d.Phase
			count, why = n.Refusal()
			if refused = nil; now == from && phase == protocol.Serving && d.Intent == nil {
				refused = protocol.FitTarget(d, body.Target)
			}
		})
		switch {
		case count > refusals:
			return Refused{Why: why}
		case refused != nil:
			return Refused{Why: refused.Error()}
		case now > from && phase == protocol.Serving && primary == body.Target:
			s.awaitReturn(ctx)
			return nil
		case now > from && phase == protocol.Serving:
			return Refused{Why: fmt.Sprintf("%s is the primary: %s did not have all of the log in time", primary,
				body.Target)}
		}
		select {
		case <-ctx.Done():
			return errors.New("no other member serves yet")
		case <-time.After(poll):
		}
	}
}

// returnTime bounds the wait for the former primary.
const returnTime = 3 * time.Second

// awaitReturn waits until this member, which was the primary, confirms writes of the next one: who asked for the
// switchover asks all members next, and that takes processor time for which clients would wait.
func (s *Service) awaitReturn(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, returnTime)
	defer stop()
	for {
		var why string
		s.Agent.View(func(n *protocol.Node) { why = n.Unready(s.Now(), "") })
		if why == "" {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(poll):
		}
	}
}

func (s *Service) failover(ctx context.Context, body Failover) error {
	var from protocol.Generation
	s.Agent.View(func(n *protocol.Node) { from = n.Document().Generation })
	return s.agree(ctx, func(d *protocol.Document) (protocol.Entry, error) {
		if d.Phase == protocol.Serving || d.Phase == protocol.Appointed {
			return nil, fmt.Errorf("%s is the primary: switch over instead", d.Primary)
		}
		e, err := protocol.Force(d, body.Target)
		if err != nil {
			return nil, err
		}
		if !body.Lose {
			return nil, fmt.Errorf("this may lose acknowledged writes: %s", protocol.LossOf(d, body.Target))
		}
		return e, nil
	}, func(d *protocol.Document) bool {
		appointed := d.Phase == protocol.Appointed || d.Phase == protocol.Serving
		return appointed && d.Primary == body.Target && d.Generation == from
	})
}

func (s *Service) add(ctx context.Context, body NewMember) error {
	return s.agree(ctx, func(*protocol.Document) (protocol.Entry, error) {
		return &protocol.AddMember{Member: body.ID, Witness: body.Witness}, nil
	}, func(d *protocol.Document) bool {
		m, known := d.Members[body.ID]
		return known && m.Witness == body.Witness && !m.Leaving
	})
}

// remove takes a member out of the group. It returns when the group has forgotten it.
func (s *Service) remove(ctx context.Context, id protocol.MemberID) error {
	return s.agree(ctx, func(d *protocol.Document) (protocol.Entry, error) {
		if d.Members[id].Leaving {
			return nil, nil //nolint:nilnil // nothing is left to propose
		}
		if d.Primary == id && d.Phase == protocol.Serving {
			return nil, fmt.Errorf("%s is the primary: switch over first", id)
		}
		return &protocol.Leave{Member: id}, nil
	}, func(d *protocol.Document) bool { return slices.Contains(d.Removed, id) })
}

func (s *Service) configure(ctx context.Context, body protocol.Settings) error {
	if s.Tuner != nil {
		if err := s.Tuner.CheckValues(ctx, body.Values); err != nil {
			return err
		}
	}
	return s.agree(ctx, func(d *protocol.Document) (protocol.Entry, error) {
		if d.Level() < body.Level() {
			return nil, errors.New("a member has an agent that does not know readonly-lag: give the members newer ones, " +
				"by kubectl dbop configure NAME --helper-image IMAGE")
		}
		if body.Check() == nil && body.Timing != d.Settings.Timing {
			return nil, errors.New("the times of a cluster are given when it is made: a lease that was given under the " +
				"former ones could outlast the next; ask for those that it has")
		}
		return &protocol.Configure{Settings: body}, nil
	}, func(d *protocol.Document) bool { return d.Settings.Version == body.Version && same(d.Settings, body) })
}

func same(a, b protocol.Settings) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && string(x) == string(y)
}

func (s *Service) hold(ctx context.Context, body Hold) error {
	return s.agree(ctx, func(d *protocol.Document) (protocol.Entry, error) {
		return d.BeginHold(body.ID, body.Hold), nil
	}, func(d *protocol.Document) bool { return d.Holds[body.ID] == body.Hold && body.ID != "" })
}

func (s *Service) release(ctx context.Context, id string) error {
	return s.agree(ctx, func(*protocol.Document) (protocol.Entry, error) {
		return &protocol.EndHold{ID: id}, nil
	}, func(d *protocol.Document) bool {
		_, held := d.Holds[id]
		return !held
	})
}

// Status returns what this member knows.
func (s *Service) Status() Status {
	st := Status{Member: s.Member, Start: s.Start, Version: s.Version, Routing: true, Leader: s.Group.Leader()}
	st.Quorum = st.Leader != ""
	heard := s.Group.Heard()
	s.Agent.View(func(n *protocol.Node) {
		d, o := n.Document(), n.Server()
		st.Token, st.System, st.Generation, st.Phase, st.Primary = d.Token, d.System, d.Generation, d.Phase, d.Primary
		st.Published, st.Blocked, st.Set, st.Changing = d.Published, n.Blocked(), d.Set(), len(d.InForce) > 1
		st.Intent, st.Settings = d.Intent, d.Settings
		st.Server = Server{
			Role: o.Role, Serving: n.Serves(s.Now()), Generation: o.Generation, Upstream: o.Upstream, Volume: o.Volume,
			Position: o.Position, Unread: o.Unread, Unfit: o.Unfit, Settings: o.Settings, Standbys: o.Standbys,
		}
		st.Removed, st.ReplacesHolds = slices.Clone(d.Removed), d.ReplacesHolds()
		for id := range d.Reports {
			if st.Reports == nil {
				st.Reports = map[protocol.MemberID]Report{}
			}
			st.Reports[id] = Report{Position: d.Reports[id].Position, Loss: protocol.LossOf(d, id)}
		}
		for id, h := range d.Holds {
			if st.Holds == nil {
				st.Holds = map[string]protocol.Hold{}
			}
			st.Holds[id] = h
		}
		for id, m := range d.Members {
			member := Member{
				ID: id, Voter: slices.Contains(d.Voters, id), Witness: m.Witness, Leaving: m.Leaving, Joined: m.Start > 0,
				Volume: m.Volume, Position: n.Received(id), Heard: -1,
			}
			if at, ever := heard[id]; ever {
				member.Heard = time.Since(at).Truncate(time.Millisecond)
			}
			if id == s.Member {
				member.Position, member.Heard = o.Position, 0
			}
			st.Members = append(st.Members, member)
		}
	})
	slices.SortFunc(st.Members, func(a, b Member) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	st.Server.Failing = brief(s.Agent.Failing())
	if s.Tuner != nil {
		st.Server.Pending, st.Server.Held = s.Tuner.Pending()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st.Notices = slices.Clone(s.notices)
	return st
}
