package simulation

import "time"

// seen is what a member remembers of another: its last start and the most of its log.
type seen struct {
	start, nonce uint64
	term         uint64
	length       int
}

// linked says whether two members reach each other in both directions.
func (w *world) linked(a, b *member) bool {
	return !w.cut[a.number][b.number] && !w.cut[b.number][a.number]
}

// send delivers something to another member, unless it is lost.
func (m *member) send(to *member, deliver func()) {
	w := m.world
	if w.cut[m.number][to.number] || w.loss > 0 && w.chance(w.loss) || m.hung() > 3*time.Second {
		return
	}
	life, from := to.life, m.proof()
	delay := w.between(time.Millisecond, 30*time.Millisecond)
	if w.loss > 0 && w.chance(w.loss) {
		delay = w.between(0, 6*time.Second)
	}
	w.after(delay, func() {
		to.when(life, func() { // each side has proved itself to the other
			m.receive(to, to.proof(), func() { to.receive(m, from, deliver) })
		})
	})
}

// proof is what a connection proves before the first message.
func (m *member) proof() seen {
	return seen{start: m.disk.start, nonce: m.nonce, term: m.lastTerm(), length: len(m.disk.log)}
}

// receive refuses who comes back with an older start or with less log than it acknowledged.
func (m *member) receive(from *member, proof seen, deliver func()) {
	if m.hung() > 3*time.Second {
		return
	}
	known := &m.disk.seen[from.number]
	older := proof.start < known.start || proof.start == known.start && proof.nonce != known.nonce
	less := proof.term < known.term || proof.term == known.term && proof.length < known.length
	if known.start != 0 && m.world.mistake != rollbackAccepted && (older || proof.start > known.start && less) {
		from.refused = true
		return
	}
	if proof.start >= known.start && !less {
		*known = proof
	}
	deliver()
}
