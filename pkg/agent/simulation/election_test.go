package simulation

import (
	"math/bits"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

const electionTimeout = time.Second

// elect makes a member the leader if a majority agrees.
func (m *member) elect() {
	w := m.world
	term := m.disk.term + 1
	granted := uint(0)
	for _, v := range w.members {
		if m.voters()&(1<<v.number) == 0 {
			continue
		}
		if v == m {
			granted |= 1 << v.number
			continue
		}
		if !v.up() || v.hung() > 0 || !w.linked(m, v) || w.now-v.heard < electionTimeout {
			continue
		}
		if v.disk.term > m.disk.term {
			m.disk.term = v.disk.term // it asks again with a higher one
			return
		}
		if v.lastTerm() > m.lastTerm() || v.lastTerm() == m.lastTerm() && len(v.disk.log) > len(m.disk.log) {
			continue
		}
		refused := true
		v.receive(m, m.proof(), func() { m.receive(v, v.proof(), func() { refused = false }) })
		if !refused {
			granted |= 1 << v.number
		}
	}
	if 2*bits.OnesCount(granted) <= bits.OnesCount(m.voters()) {
		return
	}
	for _, v := range w.members {
		if granted&(1<<v.number) != 0 {
			v.disk.term = term
			v.follow()
		}
	}
	w.logf("%s leads the group in term %d", m.id, term)
	m.leader = true
	m.match = make([]int, len(w.members))
	m.acked = make([]time.Duration, len(w.members))
	for i := range m.acked {
		m.acked[i] = w.now
	}
	m.append(nil, m.voters())
	m.step(protocol.Led{Leading: true})
}

func (m *member) follow() {
	if m.leader {
		m.leader = false
		m.step(protocol.Led{})
	}
}
