package simulation

import (
	"slices"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// hangTime is how long a disk hangs at most.
const hangTime = 25 * time.Second

// trouble makes one thing go wrong, and then the next.
func (w *world) trouble() {
	if w.calm {
		return
	}
	w.after(w.between(200*time.Millisecond, 8*time.Second), w.trouble)
	m := w.members[w.rng.IntN(len(w.members))]
	if p := w.primary(); p != nil && w.chance(0.4) {
		m = p
	}
	switch w.rng.IntN(18) {
	case 0:
		w.logf("%s is killed with its server", m.id)
		m.restart(w.between(100*time.Millisecond, 20*time.Second))
	case 1:
		w.logf("the agent of %s freezes", m.id)
		m.frozenUntil = w.now + w.between(time.Second, 20*time.Second)
	case 2:
		w.logf("the server of %s crashes", m.id)
		w.crash(m)
	case 3:
		w.logf("%s is cut off", m.id)
		for _, o := range w.members {
			w.cut[m.number][o.number], w.cut[o.number][m.number] = true, true
		}
		w.after(w.between(time.Second, 25*time.Second), w.mend)
	case 4, 5:
		for range 1 + w.rng.IntN(6) {
			a, b := w.rng.IntN(len(w.members)), w.rng.IntN(len(w.members))
			w.logf("no message from %s to %s", w.members[a].id, w.members[b].id)
			w.cut[a][b] = true
		}
		w.after(w.between(time.Second, 15*time.Second), w.mend)
	case 6:
		w.logf("the disk of %s hangs", m.id)
		m.hungUntil = w.now + hangTime
		w.after(w.between(time.Second, hangTime), func() { m.hungUntil = w.now })
	case 7:
		w.logf("messages are lost, or late")
		w.loss = w.rng.Float64() * 0.4
		w.after(w.between(time.Second, 15*time.Second), func() { w.loss = 0 })
	case 8:
		if w.chance(0.3) {
			w.logf("all restart")
			for _, o := range w.members {
				if o.agent != nil {
					o.restart(w.between(0, 30*time.Second))
				}
			}
		}
	case 9, 10, 11:
		target := w.members[w.rng.IntN(len(w.members))]
		if p := w.primary(); p != nil && p.agent != nil {
			w.switches++
			p.step(protocol.Switchover{Intent: protocol.Intent{Target: target.id, Why: "test"}})
		}
	case 12:
		w.changeMembers()
	case 13:
		if w.pauses {
			w.logf("all of %s stands still", m.id)
			m.pausedUntil = w.now + w.between(time.Second, 30*time.Second)
		}
	case 14:
		w.damage(m)
	case 15:
		w.logf("the first process of the server of %s is killed", m.id)
		m.server.orphaned = m.server.role == protocol.Primary
		life := m.life
		w.after(w.between(0, 2*time.Second), func() {
			if m.life == life && m.server.orphaned {
				w.crash(m)
			}
		})
	case 16:
		w.person(&protocol.StartHold{ID: "hold", Hold: protocol.Hold{For: w.between(time.Second, 20*time.Second),
			By: "test"}})
	case 17:
		w.move()
	}
}

func (w *world) crash(m *member) {
	m.job++
	m.crash()
	if m.agent != nil {
		// A job that ran ends with the server.
		m.restartJob()
	}
}

// restartJob tells the agent that whatever it asked for is over.
func (m *member) restartJob() {
	life := m.life
	m.when(life, func() {
		m.observe()
		for _, kind := range []protocol.JobKind{
			protocol.Initialise, protocol.Clone, protocol.Follow, protocol.Cut, protocol.Read, protocol.Promote,
			protocol.Load, protocol.Checkpoint, protocol.Admit, protocol.StopFast, protocol.StopNow,
		} {
			if m.agent != nil {
				m.step(protocol.Done{Job: protocol.Job{Kind: kind, Generation: m.agent.Document().Generation}})
			}
		}
	})
}

// mend ends all cuts.
func (w *world) mend() {
	for _, row := range w.cut {
		clear(row)
	}
}

func (w *world) primary() *member {
	for _, m := range w.members {
		if m.server.role == protocol.Primary {
			return m
		}
	}
	return nil
}

// person asks for an entry through the leader.
func (w *world) person(e protocol.Entry) {
	for _, m := range w.members {
		if m.up() && m.leader {
			m.propose(e)
		}
	}
}

// changeMembers adds a spare, or has a member leave.
func (w *world) changeMembers() {
	for _, m := range w.members {
		if !m.up() || !m.leader {
			continue
		}
		d := m.agent.Document()
		spare := slices.IndexFunc(w.members, func(s *member) bool {
			_, known := d.Members[s.id]
			return !known && !slices.Contains(d.Removed, s.id)
		})
		if spare >= 0 {
			w.logf("%s is added", w.members[spare].id)
			w.members[spare].boot()
			w.person(&protocol.AddMember{Member: w.members[spare].id})
			return
		}
		if data := d.Data(); len(data) > 3 && w.chance(0.5) {
			leaver := data[w.rng.IntN(len(data))]
			w.logf("%s leaves", leaver)
			w.person(&protocol.Leave{Member: leaver})
		}
		return
	}
}

// damage empties a volume or puts an old one in its place.
func (w *world) damage(m *member) {
	if !w.volumes || m.witness || m.agent == nil || w.damaged != nil && w.damaged != m {
		return
	}
	switch {
	case w.chance(0.4):
		w.logf("the data directory of %s is emptied", m.id)
		w.damaged = m
		m.die()
		m.disk.system, m.disk.volume, m.disk.copiedIn, m.disk.rows = "", "", 0, nil
		w.after(time.Second, m.boot)
	case m.backup == nil:
		w.damaged = m
		m.die()
		copied := m.disk
		copied.log = slices.Clone(m.disk.log)
		copied.rows = slices.Clone(m.disk.rows)
		copied.seen = slices.Clone(m.disk.seen)
		m.backup = &copied
		w.logf("a snapshot of the volume of %s is taken", m.id)
		w.after(time.Second, m.boot)
	case w.chance(0.5):
		w.logf("the volume of %s is rolled back", m.id)
		m.die()
		m.disk = *m.backup
		w.after(time.Second, m.boot)
	default:
		w.logf("the volume of %s is emptied", m.id)
		m.die()
		m.disk = disk{seen: make([]seen, len(w.members))}
		if m.founder {
			first := w.members[0].disk.log
			if len(first) > 0 {
				m.disk.log, m.disk.term = slices.Clone(first[:1]), 1
			}
		}
		w.after(time.Second, m.boot)
	}
}
