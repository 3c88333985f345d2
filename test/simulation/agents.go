package simulation

import (
	"slices"
	"time"
)

// agreement is what the agents of a group know beside who is a member: who is
// the primary, of which timeline, and who has all that clients were told is safe.
// The group's leader is the primary.
type agreement struct {
	// timeline is the primary's; ends says where each earlier one ended.
	timeline int
	ends     map[int]int
	// sync are the IDs of the synchronous set: a write is acknowledged once all of it have it.
	sync []string
	// failAt is when another primary is appointed; zero while there is one.
	failAt time.Time
	// evenSince is since when an even number votes.
	evenSince time.Time
}

// voteTimeout is how long a voter may be gone before a spare member takes its
// vote, syncTimeout how long one may be in the synchronous set without keeping up.
const (
	voteTimeout = time.Minute
	syncTimeout = 10 * time.Second
)

// hasAgents reports whether the databases of this world are those of package replicated.
func (w *world) hasAgents() bool { return w.engine.Name() == "replicated" }

// attend lets the agents of a group do what they do by themselves.
func (w *world) attend(g *group) {
	w.admit(g)
	w.balance(g)
	w.appointing(g)
	if lead := w.leads(g); lead != nil {
		w.replicate(g, lead)
	}
	w.oddly(g)
}

// agrees reports whether a majority of the voters meet. One whose volume went
// back in time knows less than it agreed to, and does not count.
func (w *world) agrees(g *group) bool {
	n := 0
	for _, s := range w.live(g) {
		if !s.pod.process.data.stale {
			n++
		}
	}
	return n >= quorum(g.voters())
}

// primary returns the slot of the primary if it serves.
func (w *world) primary(g *group) *slot {
	e := g.entry(g.leader)
	if e == nil || !w.agrees(g) {
		return nil
	}
	if s := w.serving(g, *e); s != nil && !s.pod.process.data.stale {
		return s
	}
	return nil
}

// appointing gives the group a primary where it has none: after the lease of
// the former one, or soon where that gave it back.
func (w *world) appointing(g *group) {
	a := g.agreement
	switch {
	case w.leads(g) != nil || !w.agrees(g):
		a.failAt = time.Time{}
	case a.failAt.IsZero():
		a.failAt = w.now.Add(w.between(7*time.Second, 11*time.Second))
		if e := g.entry(g.leader); e == nil || w.released(e.name) {
			a.failAt = w.now.Add(w.between(time.Second, 3*time.Second))
		}
	case !w.now.Before(a.failAt):
		if fit := w.eligible(g); len(fit) > 0 {
			a.failAt = time.Time{}
			w.tally["failover"]++
			w.appoint(g, fit[w.rng.IntN(len(fit))])
		}
	}
}

// released reports whether a primary was stopped in order.
func (w *world) released(name string) bool {
	s := w.find(name)
	return s == nil || s.pod == nil || s.pod.deleting
}

// eligible are the members that have all that was acknowledged.
func (w *world) eligible(g *group) []*slot {
	var out []*slot
	for _, e := range g.members {
		s := w.serving(g, e)
		if s != nil && !e.witness && slices.Contains(g.agreement.sync, e.id) && !s.pod.process.data.stale {
			out = append(out, s)
		}
	}
	return out
}

// appoint makes a member the primary of a timeline of its own. A former primary
// that meets nobody goes on to believe in itself, and now and then to serve.
func (w *world) appoint(g *group, s *slot) {
	a, d := g.agreement, s.pod.process.data
	if e := g.entry(g.leader); e != nil && e.id != d.id {
		if old := w.find(e.name); w.runs(old) && !w.meets(old) && old.pod.process.data.id == e.id {
			p := old.pod.process
			p.claims = true
			p.data.index += w.rng.IntN(5)
			if w.chance(0.6) {
				p.rivalUntil = w.now.Add(w.between(time.Second, 30*time.Second))
				w.tally["two primaries that serve"]++
			}
			w.tally["two that claim to lead"]++
		}
	}
	a.ends[a.timeline] = d.index
	a.timeline++
	d.term = a.timeline
	a.sync = slices.DeleteFunc(slices.Clone(a.sync), func(id string) bool { return id == d.id })
	w.crown(g, s)
	w.logf("%s is the primary of timeline %d of group %s", s.name, a.timeline, g.clusterID)
}

// replicate lets clients write, replicas follow, and the agents decide who has to.
func (w *world) replicate(g *group, lead *slot) {
	a, d := g.agreement, lead.pod.process.data
	if d.index < g.acked {
		w.violate("acknowledged writes %d..%d are lost: %s came back as the primary with %d", d.index+1, g.acked, lead.name,
			d.index)
		g.acked = d.index
	}
	if w.chance(0.6) {
		g.index += 1 + w.rng.IntN(3)
		d.index = g.index
	}
	copies := 0
	for i := range g.members {
		e := &g.members[i]
		if !e.witness {
			copies++
		}
		s := w.serving(g, *e)
		if s == nil {
			w.drop(g, e, true)
			continue
		}
		e.started, s.pod.process.claims = true, false
		if e.witness || s == lead {
			continue
		}
		if !w.now.Before(s.lagUntil) {
			w.follow(g, s.pod.process.data)
		}
		w.synchronous(g, e, s.pod.process.data)
	}
	safe := d.index
	for _, id := range a.sync {
		if e := g.entry(id); e != nil {
			if s := w.serving(g, *e); s != nil && s.pod.process.data.term == a.timeline {
				safe = min(safe, s.pod.process.data.index)
				continue
			}
		}
		safe = 0
	}
	if len(a.sync) > 0 || copies == 1 {
		g.acked = max(g.acked, safe)
	}
}

// follow streams to a replica. One whose log went on where the timeline ended
// goes back to that point first.
func (w *world) follow(g *group, d *data) {
	a := g.agreement
	if d.term != a.timeline {
		end := d.index
		for t := d.term; t < a.timeline; t++ {
			end = min(end, a.ends[t])
		}
		if end < d.index {
			if w.chance(0.9) {
				return // it takes its time
			}
			w.tally["rewound"]++
		}
		d.index, d.term = end, a.timeline
		return
	}
	if w.chance(0.8) {
		gap := g.index - d.index
		d.index += gap - gap/2*w.rng.IntN(2)
	}
	d.stale = d.stale && d.index < g.acked
}

// synchronous takes a replica into the synchronous set once it has what was
// acknowledged, and one that does not keep up out of it.
func (w *world) synchronous(g *group, e *entry, d *data) {
	a := g.agreement
	follows := d.term == a.timeline && d.index >= g.acked && !d.stale
	switch in := slices.Contains(a.sync, e.id); {
	case !in && follows && e.whole:
		a.sync = append(slices.Clone(a.sync), e.id)
		e.away = time.Time{}
	case in:
		w.drop(g, e, !follows || g.index-d.index > 40)
	}
}

// drop takes a member out of the synchronous set that has been away for a
// while, never the last one of it.
func (w *world) drop(g *group, e *entry, away bool) {
	a := g.agreement
	switch {
	case !away:
		e.away = time.Time{}
	case e.away.IsZero():
		e.away = w.now
	case w.now.Sub(e.away) > syncTimeout && len(a.sync) > 1 && len(w.eligible(g)) > 0 && slices.Contains(a.sync, e.id):
		a.sync = slices.DeleteFunc(slices.Clone(a.sync), func(id string) bool { return id == e.id })
	}
}
