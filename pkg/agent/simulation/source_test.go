package simulation

import (
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

const (
	sourceAddress = "source:5432"
	// followTime is how long the way to a primary that follows may take without faults, and the way back to one that
	// takes writes.
	followTime = 40 * time.Second
)

// followed keeps the document as all agree on it, and of which generations the primary must let no client write.
func (w *world) followed(index int, e protocol.Entry) {
	before := w.document.Generation
	_ = w.document.Apply(uint64(index), e) // what is refused changes nothing
	switch g := w.document.Generation; {
	case g != before:
		w.follows[g] = w.document.Source != nil
	case w.document.Source == nil:
		w.follows[g] = false
	}
}

// mayWrite fails where a client writes to what follows a source: the source lacks the row.
func (w *world) mayWrite(m *member) {
	if g := m.server.generation; w.document.Source != nil && w.follows[g] {
		w.fail("%s lets clients write in generation %d, while the cluster follows a source", m.id, g)
	}
}

// move has the cluster follow a source that took over from it, or take over again.
func (w *world) move() {
	p := w.primary()
	if p == nil || !p.up() {
		return
	}
	d := p.agent.Document()
	switch {
	case d.Source == nil:
		w.person(&protocol.BeginSource{Source: protocol.Source{Address: sourceAddress}, Generation: d.Generation})
	case p.server.following && p.server.generation == d.Generation:
		w.person(&protocol.EndSource{Address: sourceAddress, Generation: d.Generation})
	}
}

// thereAndBack follows a source and takes over again, without faults.
func (w *world) thereAndBack() {
	if w.damaged != nil || w.lyingClocks {
		return
	}
	follows := func() bool {
		p := w.primary()
		return w.document.Source != nil && p != nil && p.server.following
	}
	takes := func() bool {
		p := w.primary()
		return w.document.Source == nil && p != nil && !p.server.following
	}
	w.until(follows, w.now+followTime, "nobody follows the source", func() {
		w.until(takes, w.now+followTime, "nobody takes over from the source", func() {})
	})
}

// until moves as long as something does not hold.
func (w *world) until(holds func() bool, deadline time.Duration, or string, then func()) {
	switch {
	case holds():
		then()
	case w.now > deadline:
		w.fail("%s, %s after the last fault", or, followTime)
	default:
		w.move()
		w.after(time.Second, func() { w.until(holds, deadline, or, then) })
	}
}
