package simulation

import (
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed"
)

// admit makes whole members of those that have joined: with the data, or, for a
// witness, with the agents' log.
func (w *world) admit(g *group) {
	for i := range g.members {
		e := &g.members[i]
		s := w.serving(g, *e)
		if s == nil {
			if e.gone.IsZero() {
				e.gone = w.now
			}
			continue
		}
		e.gone = time.Time{}
		d := s.pod.process.data
		if e.witness && w.agrees(g) {
			d.stale = false // the others fill its log again
		}
		if e.whole || !w.agrees(g) {
			continue
		}
		e.started = true
		e.whole = e.witness || w.leads(g) != nil && d.term == g.agreement.timeline && g.index-d.index < 20
	}
}

// kinds counts the whole members with data and the witnesses.
func (g *group) kinds() (data, witnesses int) {
	for _, e := range g.members {
		switch {
		case !e.whole || e.leaving:
		case e.witness:
			witnesses++
		default:
			data++
		}
	}
	return data, witnesses
}

// balance gives and takes votes so that the largest odd number votes that the
// members allow. Two change at once where one would leave an even number.
func (w *world) balance(g *group) {
	if !w.agrees(g) {
		return
	}
	if w.mischief.EvenVotes || w.mischief.EarlyVotes {
		for i := range g.members {
			e := &g.members[i]
			e.voter = e.voter || e.whole == w.mischief.EvenVotes
		}
		return
	}
	data, witnesses := g.kinds()
	target := agreed.Votes(data, witnesses)
	noWitness := target == data || data%2 == 1
	for range 2 * len(g.members) {
		n, spare, loser := g.voters(), w.spare(g, noWitness), w.loser(g, noWitness)
		surplus := loser != nil && (loser.leaving || loser.witness && noWitness || !loser.gone.IsZero() &&
			w.now.Sub(loser.gone) > voteTimeout)
		switch {
		case n > target || n%2 == 0 && (n == target || spare == nil):
			if loser == nil {
				return
			}
			loser.voter = false
		case n < target && spare != nil && (n%2 == 0 || w.spares(g, noWitness) > 1):
			spare.voter = true
		case surplus && spare != nil:
			spare.voter, loser.voter = true, false
		default:
			return
		}
	}
}

// spare is a member that could be given a vote, one with data first.
func (w *world) spare(g *group, noWitness bool) *entry {
	var found *entry
	for i := range g.members {
		e := &g.members[i]
		fit := e.whole && !e.voter && !e.leaving && w.serving(g, *e) != nil && (!e.witness || !noWitness)
		if fit && (found == nil || found.witness && !e.witness) {
			found = e
		}
	}
	return found
}

func (w *world) spares(g *group, noWitness bool) int {
	n := 0
	for _, e := range g.members {
		if e.whole && !e.voter && !e.leaving && w.serving(g, e) != nil && (!e.witness || !noWitness) {
			n++
		}
	}
	return n
}

// loser is the voter whose vote matters least: a witness that is not needed, who
// is gone for longest, then the last. The primary is never it.
func (w *world) loser(g *group, noWitness bool) *entry {
	var found *entry
	worth := func(e *entry) time.Duration {
		switch {
		case e.leaving:
			return -1 << 63
		case e.witness && noWitness:
			return -1 << 62
		case !e.gone.IsZero():
			return -w.now.Sub(e.gone) - 1
		}
		return 0
	}
	for i := range g.members {
		e := &g.members[i]
		if e.voter && e.id != g.leader && (found == nil || worth(e) <= worth(found)) {
			found = e
		}
	}
	return found
}

// oddly complains about votes that were given too early, and about an even number of them that stays.
func (w *world) oddly(g *group) {
	a := g.agreement
	for _, e := range g.members {
		if e.voter && !e.whole {
			w.violate("%s votes before it has joined", e.name)
		}
	}
	switch {
	case g.voters()%2 == 1 || !w.agrees(g):
		a.evenSince = time.Time{}
	case a.evenSince.IsZero():
		a.evenSince = w.now
	case w.now.Sub(a.evenSince) > 3*time.Second:
		w.violate("%d members of group %s vote, an even number", g.voters(), g.clusterID)
		a.evenSince = time.Time{}
	}
}
