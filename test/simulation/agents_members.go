package simulation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed"
)

// enlist announces a member to the agents.
func (w *world) enlist(g *group, name string, witness bool) error {
	if e := g.named(name); e != nil {
		if e.started {
			return &engine.Refusal{Check: "registered", Reason: name + " is a member already"}
		}
		e.witness = witness
		return nil
	}
	g.members = append(g.members, entry{id: hash(fmt.Sprint(name, w.now.UnixNano())), name: name, witness: witness})
	return nil
}

// dismiss takes a member out of the agents' list, its vote first. The primary
// has to hand over before.
func (w *world) dismiss(g *group, name string) error {
	e := g.named(name)
	switch {
	case e == nil:
		return nil
	case e.id == g.leader:
		return &engine.Refusal{Check: "primary", Reason: name + " is the primary"}
	case w.weather.storm > 0 && w.chance(0.3):
		return fmt.Errorf("the agents did not agree in time: %w", engine.ErrNotReady)
	}
	// Its vote goes first, while a majority is there to agree.
	e.leaving = true
	w.balance(g)
	id := e.id
	g.members = slices.DeleteFunc(slices.Clone(g.members), func(o entry) bool { return o.id == id })
	g.agreement.sync = slices.DeleteFunc(slices.Clone(g.agreement.sync), func(o string) bool { return o == id })
	w.balance(g)
	return nil
}

// switchOver is a planned change of the primary: the former one stops, and the
// target has all of its log before it begins.
func (w *world) switchOver(g *group, lead *slot, to string) error {
	e := g.named(to)
	if e == nil || e.witness || !e.whole {
		return &engine.Refusal{Check: "target", Reason: to + " can't be the primary"}
	}
	s := w.serving(g, *e)
	if s == lead {
		return nil
	}
	if s == nil || w.now.Before(s.lagUntil) || s.pod.process.data.stale ||
		s.pod.process.data.term != g.agreement.timeline ||
		g.index-s.pod.process.data.index > 100 || w.weather.storm > 0 && w.chance(0.1) {
		return fmt.Errorf("%s does not confirm the last record of %s: %w", to, lead.name, engine.ErrNotReady)
	}
	s.pod.process.data.index = lead.pod.process.data.index
	former := lead.pod.process.data.id
	w.appoint(g, s)
	if !slices.Contains(g.agreement.sync, former) {
		g.agreement.sync = append(g.agreement.sync, former) // it has all, and follows at once
	}
	lead.pod.process.data.term = g.agreement.timeline
	return nil
}

// bootAgent starts a member with an empty volume. An initial member that may
// still begin a group is taken for the one that it was: that is why its
// template is sealed.
func (w *world) bootAgent(s *slot) string {
	t := s.pod.template
	for _, peer := range t.peers {
		other := w.find(peer)
		if peer == s.name || !w.meets(other) || other.pod.process.data.group == nil {
			continue
		}
		g := other.pod.process.data.group
		e := g.named(s.name)
		switch {
		case t.bootstrap && e != nil && e.id == initialID(s.name, t.token):
			s.volume.data = &data{id: e.id, group: g, token: t.token}
			return ""
		case e == nil:
			return "not in the member list"
		case e.witness != t.witness:
			return fmt.Sprintf("its pod is that of a witness: %v, and it is listed as one: %v", t.witness, e.witness)
		case e.started:
			return "its volume is empty, and the others know it: was it lost?"
		}
		s.volume.data = &data{id: e.id, group: g, token: t.token}
		return ""
	}
	if t.bootstrap {
		s.volume.data = &data{id: initialID(s.name, t.token), token: t.token, peers: slices.Clone(t.peers)}
		return ""
	}
	return "none of " + strings.Join(t.peers, ", ") + " answers"
}

// constituted completes a group that was just formed: who is a witness, as all
// initial members were told, and who votes.
func (w *world) constituted(g *group) {
	g.agreement = &agreement{ends: map[int]int{}}
	var told []string
	for _, c := range w.records.clusters {
		if f := c.Status.Bootstrap; f != nil && f.Token == g.token {
			told = f.Witnesses
		}
	}
	for i := range g.members {
		e := &g.members[i]
		e.witness = slices.Contains(told, e.name)
		e.whole, e.voter = true, false
		if !e.witness {
			g.agreement.sync = append(g.agreement.sync, e.id)
		}
	}
	data, witnesses := g.kinds()
	left := agreed.Votes(data, witnesses)
	for i := range g.members {
		if e := &g.members[i]; left > 0 && (!e.witness || data%2 == 0) {
			e.voter = true
			left--
		}
	}
}

// said is what a member's agent says of it.
func (w *world) said(s *slot, m *engine.Member) {
	p := s.pod.process
	d, g := p.data, p.data.group
	e := g.entry(d.id)
	m.Protocol, m.Schema, m.Auth = "", "", ""
	m.Role = engine.RoleReplica
	m.Position = agreed.Position(g.clusterID, d.term, d.index)
	if e != nil && e.witness {
		m.Role, m.Position, m.Version = agreed.RoleWitness, "", "" // it runs no server
	}
	if p.claims {
		m.Role, m.Leader, m.Serving = engine.RolePrimary, d.id, w.now.Before(p.rivalUntil)
		return
	}
	lead := w.leads(g)
	if lead == nil || !w.meets(s) || e == nil {
		return
	}
	m.Leader = lead.pod.process.data.id
	if lead == s {
		m.Role = engine.RolePrimary
	}
	m.Serving = e.whole && !d.stale
}
