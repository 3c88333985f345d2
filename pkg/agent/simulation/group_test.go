package simulation

import (
	"math/bits"
	"slices"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// record is an entry of the group's log. voters is the configuration after it.
type record struct {
	term   uint64
	entry  protocol.Entry
	voters uint
}

func (m *member) lastTerm() uint64 {
	if len(m.disk.log) == 0 {
		return 0
	}
	return m.disk.log[len(m.disk.log)-1].term
}

func (m *member) voters() uint {
	if len(m.disk.log) == 0 {
		return 0
	}
	return m.disk.log[len(m.disk.log)-1].voters
}

// append adds an entry to the log of the leader.
func (m *member) append(e protocol.Entry, voters uint) {
	m.disk.log = append(m.disk.log, record{term: m.disk.term, entry: e, voters: voters})
	m.replicate()
	m.commitAgreed()
}

// configure changes the votes, one change at a time.
func (m *member) configure(voters uint) {
	for i := m.commit; i < len(m.disk.log); i++ {
		if i == 0 || m.disk.log[i].voters != m.disk.log[i-1].voters {
			return
		}
	}
	if m.leader && m.commit > 0 && m.disk.log[m.commit-1].term == m.disk.term && voters != m.voters() && voters != 0 {
		m.append(&protocol.Configured{Voters: m.world.ids(voters)}, voters)
	}
}

func (m *member) replicate() {
	w := m.world
	for _, to := range w.members {
		if to == m || !w.concerns(m, to) {
			continue
		}
		term, log, commit := m.disk.term, m.told(to), m.commit
		m.send(to, func() { to.accept(m, term, log, commit) })
	}
}

// told is what a leader sends of its log: a change that takes the vote of a member is agreed before that one hears of
// it.
func (m *member) told(to *member) []record {
	log := slices.Clip(m.disk.log)
	for i := max(1, m.commit); i < len(log); i++ {
		if log[i].voters != log[i-1].voters && log[i].voters&(1<<to.number) == 0 {
			return log[:i:i]
		}
	}
	return log
}

// concerns says whether a leader knows of a member.
func (w *world) concerns(leader, to *member) bool {
	_, known := leader.agent.Document().Members[to.id]
	return known || leader.voters()&(1<<to.number) != 0
}

func (m *member) accept(leader *member, term uint64, log []record, commit int) {
	w := m.world
	if left := m.hung(); left > 0 {
		life := m.life
		w.after(m.hungUntil-w.now, func() { m.when(life, func() { m.accept(leader, term, log, commit) }) })
		return
	}
	if term < m.disk.term {
		newer := m.disk.term
		m.send(leader, func() {
			if newer > leader.disk.term {
				leader.disk.term = newer
				leader.follow()
			}
		})
		return
	}
	m.disk.term = term
	m.follow()
	m.heard, m.leaderHint = w.now, leader
	if n := min(len(m.disk.log), len(log)); n == 0 || m.disk.log[n-1].term != log[n-1].term ||
		len(log) > len(m.disk.log) {
		m.disk.log = log
	}
	m.commit = max(m.commit, min(commit, len(log)))
	m.applyAgreed()
	length := len(log)
	m.send(leader, func() {
		if leader.leader && leader.disk.term == term {
			leader.match[m.number] = max(leader.match[m.number], length)
			leader.acked[m.number] = w.now
			leader.commitAgreed()
		}
	})
}

// commitAgreed moves the commit index of a leader to what a majority stored.
func (m *member) commitAgreed() {
	if m.hung() > 0 {
		return
	}
	for n := len(m.disk.log); n > m.commit && m.disk.log[n-1].term == m.disk.term; n-- {
		voters, have := m.disk.log[len(m.disk.log)-1].voters, 0
		for _, v := range m.world.members {
			if voters&(1<<v.number) != 0 && (v == m || m.match[v.number] >= n) {
				have++
			}
		}
		if 2*have > bits.OnesCount(voters) {
			m.commit = n
			m.applyAgreed()
			m.replicate()
			return
		}
	}
}

// applyAgreed applies some entries, and the rest a little later: an agent that starts again acts on old ones meanwhile.
func (m *member) applyAgreed() {
	life, last := m.life, m.applied+8
	for m.applied < min(m.commit, last) && m.life == life {
		m.applied++
		if e := m.disk.log[m.applied-1].entry; e != nil {
			m.world.apply(m, m.applied, e)
			m.step(protocol.Applied{Index: uint64(m.applied), Entry: e})
			m.note(e)
			if _, renewal := e.(*protocol.Renew); !renewal && m.agent != nil && m.world.rng.IntN(2) == 0 {
				d := copied(m.world, m.agent.Document())
				m.disk.remembered = &d
			}
		}
		if m.applied%64 == 0 {
			m.keepSnapshot()
		}
	}
	if m.applied < m.commit && m.life == life && !m.applying {
		m.applying = true
		m.world.after(m.world.between(time.Millisecond, 100*time.Millisecond), func() {
			m.when(life, func() {
				m.applying = false
				m.applyAgreed()
			})
		})
	}
}

// keepSnapshot writes the document to disk.
func (m *member) keepSnapshot() {
	if m.agent == nil {
		return
	}
	m.disk.document, m.disk.snapshot = copied(m.world, m.agent.Document()), m.applied
}

func copied(w *world, of *protocol.Document) (d protocol.Document) {
	raw, err := of.MarshalSnapshot()
	if err == nil {
		err = d.UnmarshalSnapshot(raw)
	}
	if err != nil {
		w.fail("copy a document: %v", err)
	}
	return d
}

// group is what the Raft part of an agent does every now and then.
func (m *member) group() {
	w := m.world
	switch {
	case m.hung() > 0:
	case m.leader:
		fresh := 0
		for _, v := range w.members {
			if m.voters()&(1<<v.number) != 0 && (v == m || w.now-m.acked[v.number] < 2*electionTimeout) {
				fresh++
			}
		}
		if 2*fresh <= bits.OnesCount(m.voters()) && w.chance(0.1) { // it may take its time to notice
			m.follow()
			return
		}
		var present []protocol.MemberID
		for _, v := range w.members {
			if v != m && w.now-m.acked[v.number] < electionTimeout {
				present = append(present, v.id)
			}
		}
		m.step(protocol.Contact{Present: present})
		if m.agent != nil && m.leader {
			m.replicate()
		}
	case m.voters()&(1<<m.number) != 0 && w.now-m.heard > electionTimeout && w.chance(0.4):
		m.elect()
	}
	for _, to := range w.members {
		told := protocol.Told{Position: m.position()}
		if r := m.agent.Route(m.clock()); r.Hold {
			told.Holds = r.Generation
		}
		if to != m && w.chance(0.3) {
			m.send(to, func() { to.step(protocol.Received{Member: m.id, Told: told}) })
		}
	}
}

// propose takes an entry to the leader that the member knows of.
func (m *member) propose(e protocol.Entry) {
	if m.leader {
		life := m.life
		m.world.after(time.Millisecond, func() {
			m.when(life, func() {
				if m.leader {
					m.append(e, m.voters())
				}
			})
		})
		return
	}
	if to := m.leaderHint; to != nil && to != m {
		m.send(to, func() {
			if to.leader {
				to.append(e, to.voters())
			}
		})
	}
}
