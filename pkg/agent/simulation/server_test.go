package simulation

import (
	"fmt"
	"sort"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// start runs a job; the one before it ends.
func (m *member) start(job protocol.Job) {
	w := m.world
	m.job++
	number, life := m.job, m.life
	took := w.between(10*time.Millisecond, 300*time.Millisecond)
	if job.Kind == protocol.StopFast {
		m.server.draining = true
	}
	var run func()
	run = func() {
		if m.life != life || m.job != number {
			return
		}
		if wait := max(m.hungUntil, m.pausedUntil); wait > w.now {
			w.after(wait-w.now, run)
			return
		}
		m.perform(job)
		m.when(life, func() {
			m.observe()
			m.step(protocol.Done{Job: job})
		})
	}
	w.after(took, run)
}

func (m *member) perform(job protocol.Job) {
	w, s := m.world, &m.server
	switch job.Kind {
	case protocol.Initialise:
		w.systems++
		m.disk.system, m.disk.volume, m.disk.rows = fmt.Sprintf("system %d", w.systems), m.newVolume(), nil
		m.disk.copiedIn = 0
	case protocol.Clone:
		if p := w.find(job.Member); m.streamsFrom(p, job.Generation) {
			m.disk.system = p.disk.system
			m.copyAll(p, job.Generation)
		}
	case protocol.Follow:
		m.attach(w.find(job.Member), job.Generation)
	case protocol.Cut:
		if w.mistake == cutPretended && s.role == protocol.Replica {
			m.pretends = job.Generation
			return
		}
		m.disk.floor = max(m.disk.floor, job.Generation)
		s.upstream, s.generation = nil, 0
		if s.role == protocol.Primary {
			m.server = server{}
		}
		m.disk.unread = false
	case protocol.Read:
		m.disk.unread = false
		m.server = server{role: protocol.Replica, settings: job.Settings.Version}
	case protocol.Promote:
		if !m.armed || !m.unlimited && m.clock() >= m.deadline {
			return
		}
		m.server = server{
			role: protocol.Primary, generation: job.Generation, set: job.Set, standbys: map[*member]confirmed{},
			flushed: m.clock(),
			acked:   len(m.disk.rows), following: job.Source != nil,
		}
		m.disk.unread = false
		m.server.settings = job.Settings.Version
		m.add(job.Timeline)
		m.server.setAt = len(m.disk.rows)
		w.promoted(m)
	case protocol.Detach:
		s.following = false
	case protocol.Reload:
		s.settings = job.Settings.Version
	case protocol.Load:
		s.set, s.setAt = job.Set, len(m.disk.rows)
	case protocol.StopFast:
		m.drain()
		m.server = server{}
	case protocol.StopNow:
		if !s.orphaned || w.mistake != backendsIgnored {
			m.crash()
		}
	}
}

func (m *member) newVolume() string {
	if m.world.mistake == volumeKept {
		return string(m.id)
	}
	return fmt.Sprintf("%s %d", m.id, m.world.rng.Uint32())
}

// copyAll gives up what this member holds for a copy of all that a primary holds.
func (m *member) copyAll(p *member, g protocol.Generation) {
	m.disk.volume, m.disk.copiedIn, m.disk.unfit, m.disk.unread = m.newVolume(), g, "", false
	m.disk.rows = append([]row(nil), p.disk.rows...)
}

func (m *member) add(timeline uint64) {
	m.world.rows++
	m.disk.rows = append(m.disk.rows, row{id: m.world.rows, timeline: timeline})
}

// streamsFrom says whether this member may stream from the server of another as of one generation.
func (m *member) streamsFrom(p *member, g protocol.Generation) bool {
	w := m.world
	ready := p.agent != nil && w.now >= p.pausedUntil && p.server.role == protocol.Primary && w.linked(m, p)
	return ready && (w.mistake == anyUpstream || p.server.generation == g && g >= m.disk.floor)
}

// attach makes the server a replica, rewound to the last row that both have. Some servers can't rewind, and copy all.
func (m *member) attach(p *member, g protocol.Generation) {
	m.pretends = 0
	if m.server.role == protocol.Primary || !m.streamsFrom(p, g) {
		return
	}
	common := sort.Search(min(len(m.disk.rows), len(p.disk.rows)),
		func(i int) bool { return m.disk.rows[i] != p.disk.rows[i] })
	if common < len(m.disk.rows) && m.world.rng.IntN(2) == 0 {
		m.copyAll(p, g)
	} else {
		m.disk.rows, m.disk.unread = m.disk.rows[:common], false
	}
	m.server = server{role: protocol.Replica, generation: g, upstream: p, settings: m.server.settings}
}

// stream takes rows from the upstream and confirms them.
func (m *member) stream() {
	w, p := m.world, m.server.upstream
	if p == nil || m.server.role != protocol.Replica || m.hung() > 0 || !m.streamsFrom(p, m.server.generation) {
		return
	}
	if g := p.server.generation; g < w.reported[m.id] {
		w.fail("%s streams from %s in generation %d after its report for generation %d", m.id, p.id, g, w.reported[m.id])
	}
	n := len(m.disk.rows)
	if n > len(p.disk.rows) || n > 0 && m.disk.rows[n-1] != p.disk.rows[n-1] {
		return
	}
	m.disk.rows = append(m.disk.rows, p.disk.rows[n:]...)
	c, generation := confirmed{volume: m.disk.volume, offset: len(m.disk.rows)}, p.server.generation
	w.after(w.between(time.Millisecond, 20*time.Millisecond), func() {
		if p.server.role == protocol.Primary && p.server.generation == generation && w.linked(m, p) {
			c.at = w.now
			p.server.standbys[m] = c
			p.confirm()
		}
	})
}

// write adds a row where a server takes writes.
func (m *member) write() {
	if m.server.role != protocol.Primary || m.hung() > 0 {
		return
	}
	if !m.server.draining && !m.server.following {
		m.world.mayWrite(m)
	}
	if !m.server.draining && !m.world.lastMinutes() {
		for range 1 + m.world.rng.IntN(3) {
			m.add(m.timeline())
		}
	} else if !m.server.draining {
		m.add(m.timeline())
	}
	m.confirm()
}

func (w *world) lastMinutes() bool { return w.calm }

// confirm acknowledges rows that enough standbys hold.
func (m *member) confirm() {
	s := &m.server
	if m.hung() > 0 || m.world.now < m.pausedUntil {
		return
	}
	for s.acked < len(m.disk.rows) {
		have := 0
		for r, c := range s.standbys {
			for _, b := range s.set.Standbys {
				if b.Member == r.id && b.Volume == c.volume && c.offset > s.acked {
					have++
				}
			}
		}
		if have < s.set.Need && m.world.mistake != setIgnored {
			return
		}
		if !s.following { // else no client waits for it
			m.world.acknowledge(m, s.acked)
		}
		s.acked++
	}
}

// drain hands the rest of the log to the standbys that stream, as a fast stop does.
func (m *member) drain() {
	m.add(m.timeline())
	for _, r := range m.world.members {
		if r.server.upstream == m && m.world.linked(m, r) && r.hung() == 0 {
			r.stream()
		}
	}
}

// server is the database beside an agent.
type server struct {
	role       protocol.Role
	generation protocol.Generation
	upstream   *member
	set        protocol.SyncSet
	setAt      int
	settings   uint64
	acked      int
	draining   bool
	flushed    protocol.Instant
	// standbys are the offsets that standbys confirmed, and when.
	standbys map[*member]confirmed
	// orphaned is a server whose first process is dead.
	orphaned bool
	// following is a primary that takes rows of a source, and none of clients.
	following bool
}

type confirmed struct {
	volume string
	offset int
	at     time.Duration
}
