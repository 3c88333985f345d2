package simulation

import (
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// member is an agent, its guard, its server and its volume.
type member struct {
	world            *world
	number           int
	id               protocol.MemberID
	witness, founder bool
	rate             float64
	offset           time.Duration
	disk             disk
	backup           *disk

	// life changes when the agent dies: what was meant for the one before it is dropped.
	life   int
	nonce  uint64
	agent  *protocol.Node
	server server
	job    int
	// pretends is the generation for which it says that it cut its upstream.
	pretends protocol.Generation

	armed, unlimited, killing bool
	deadline                  protocol.Instant

	leader          bool
	commit, applied int
	applying        bool
	match           []int
	acked           []time.Duration
	heard           time.Duration
	leaderHint      *member
	refused         bool

	frozenUntil, pausedUntil, hungUntil time.Duration
}

func (m *member) clock() protocol.Instant {
	rate := m.rate
	if m.world.mistake == fastLeader && m.leader && m.server.role != protocol.Primary {
		return protocol.Instant(float64(m.world.now)*3 + float64(m.offset))
	}
	return protocol.Instant(float64(m.world.now)*rate + float64(m.offset))
}

func (m *member) up() bool {
	return m.agent != nil && m.world.now >= m.frozenUntil && m.world.now >= m.pausedUntil
}

// hung is how long the disk has been hanging, or 0.
func (m *member) hung() time.Duration {
	if m.world.now < m.hungUntil {
		return max(time.Nanosecond, m.world.now-m.hungSince())
	}
	return 0
}

func (m *member) hungSince() time.Duration { return m.hungUntil - hangTime }

// when does something in the agent of one life, after a freeze if there is one.
func (m *member) when(life int, do func()) {
	w := m.world
	if m.life != life || m.agent == nil {
		return
	}
	if until := max(m.frozenUntil, m.pausedUntil); until > w.now {
		w.after(until-w.now, func() { m.when(life, do) })
		return
	}
	do()
}

// boot starts guard and agent; no process of the server runs.
func (m *member) boot() {
	w := m.world
	if m.agent != nil {
		return
	}
	m.life++
	m.nonce = w.rng.Uint64()
	if w.mistake != startRepeated || m.disk.start == 0 {
		m.disk.start++
	}
	var d protocol.Document
	if raw, err := m.disk.document.MarshalSnapshot(); err != nil || d.UnmarshalSnapshot(raw) != nil {
		w.fail("%s can't read its snapshot", m.id)
	}
	c := protocol.Config{ID: m.id, Start: m.disk.start, Nonce: m.nonce, LastIndex: uint64(len(m.disk.log)), Document: d,
		Now: m.clock()}
	if m.disk.remembered != nil {
		d := copied(w, m.disk.remembered)
		c.Remembered = &d
	}
	if m.founder {
		c.Found = w.founder
	}
	m.agent = protocol.New(c)
	m.applied, m.applying = m.disk.snapshot, false
	m.commit, m.leader, m.heard, m.leaderHint = m.applied, false, w.now, nil
	m.server, m.armed, m.killing, m.unlimited = server{}, false, false, false
	m.job++
	m.pretends = 0
	w.logf("%s starts, number %d", m.id, m.disk.start)
	life := m.life
	m.every(life, 100*time.Millisecond, m.tick)
	m.every(life, 250*time.Millisecond, m.group)
	m.always(life, 50*time.Millisecond, m.guard)
	m.always(life, 60*time.Millisecond, m.write)
	m.always(life, 40*time.Millisecond, m.stream)
}

// every repeats something in the agent; always repeats something beside it, which only a pause of all stops.
func (m *member) every(life int, d time.Duration, do func()) {
	m.world.after(m.world.between(d/2, d), func() {
		m.when(life, func() {
			do()
			m.every(life, d, do)
		})
	})
}

func (m *member) always(life int, d time.Duration, do func()) {
	w := m.world
	w.after(w.between(d/2, d), func() {
		if m.life != life || m.agent == nil {
			return
		}
		if w.now >= m.pausedUntil {
			do()
		}
		m.always(life, d, do)
	})
}

// die ends every process of the pod.
func (m *member) die() {
	if m.agent == nil {
		return
	}
	if m.world.mistake == floorForgotten {
		m.disk.floor = 0
	}
	m.crash()
	m.agent, m.armed, m.leader = nil, false, false
	m.life++
	m.job++
}

// crash ends the server without an order.
func (m *member) crash() {
	m.disk.unread = m.disk.unread || m.server.role != protocol.Stopped
	m.server = server{}
}

func (m *member) restart(after time.Duration) {
	m.die()
	m.world.after(after, m.boot)
}

func (m *member) tick() {
	m.observe()
	m.step(protocol.Tick{})
}

func (m *member) timeline() uint64 {
	if len(m.disk.rows) == 0 {
		return 0
	}
	return m.disk.rows[len(m.disk.rows)-1].timeline
}

func (m *member) position() protocol.Position {
	if m.disk.unread {
		return protocol.Position{Timeline: m.timeline(), Offset: uint64(len(m.disk.rows)) / 2}
	}
	return protocol.Position{Timeline: m.timeline(), Offset: uint64(len(m.disk.rows))}
}

// observe tells the agent of the server.
func (m *member) observe() {
	s := &m.server
	o := protocol.Server{
		System: m.disk.system, Volume: m.disk.volume, CopiedIn: m.disk.copiedIn, Role: s.role, Generation: s.generation,
		Floor:    m.disk.floor,
		Position: m.position(), Flushed: s.flushed, Set: s.set.Version, SetAt: uint64(s.setAt), Unfit: m.disk.unfit,
		Settings: s.settings, Unread: m.disk.unread, Following: s.following,
	}
	if s.upstream != nil {
		o.Upstream = s.upstream.id
	}
	if m.pretends > 0 {
		o.Floor, o.Upstream, o.Generation = m.pretends, "", 0
	}
	if s.orphaned && m.world.mistake == backendsIgnored {
		o.Role = protocol.Stopped
	}
	if s.role == protocol.Primary && m.hung() == 0 && !s.orphaned {
		s.flushed = m.clock()
	}
	for _, r := range m.world.members {
		if c, ok := s.standbys[r]; ok && m.world.now-c.at < time.Second {
			o.Standbys = append(o.Standbys, protocol.Streaming{
				Standby: protocol.Standby{Member: r.id, Volume: c.volume}, Flushed: uint64(c.offset),
			})
		}
	}
	m.step(protocol.Observed{Server: o})
}

// step gives the agent an event and does what it asks for.
func (m *member) step(e protocol.Event) {
	if m.agent == nil {
		return
	}
	for _, effect := range m.agent.Step(m.clock(), e) {
		switch effect := effect.(type) {
		case protocol.Propose:
			m.propose(effect.Entry)
		case protocol.SetDeadline:
			m.armed, m.deadline, m.unlimited = true, effect.At, effect.Unlimited
		case protocol.Disarm:
			m.armed = false
		case protocol.Do:
			m.start(effect.Job)
		case protocol.GiveVote:
			m.configure(m.voters() | 1<<m.world.find(effect.Member).number)
		case protocol.TakeVote:
			m.configure(m.voters() &^ (1 << m.world.find(effect.Member).number))
		case protocol.StepDown:
			m.leader = false
		case protocol.Refuse:
			m.world.logf("%s refuses: %s", m.id, effect.Why)
		}
	}
}

func (w *world) find(id protocol.MemberID) *member {
	for _, m := range w.members {
		if m.id == id {
			return m
		}
	}
	panic(fmt.Sprintf("no member %s", id))
}

// note keeps what must hold after an entry.
func (m *member) note(e protocol.Entry) {
	if r, ok := e.(*protocol.Reported); ok && m.id == r.Member && m.agent != nil {
		if d := m.agent.Document(); d.Generation == r.Generation && d.Reports[m.id] == r.Report {
			m.world.reported[m.id] = max(m.world.reported[m.id], r.Generation)
		}
	}
}

// guard kills everything once the deadline is over. It takes its time.
func (m *member) guard() {
	w := m.world
	if !m.armed || m.unlimited || m.clock() < m.deadline || m.killing || w.mistake == guardSleeps {
		return
	}
	m.killing = true
	life := m.life
	w.after(w.between(0, 1300*time.Millisecond), func() {
		if m.life == life && m.armed && m.clock() >= m.deadline {
			w.logf("the guard of %s kills the server", m.id)
			m.restart(w.between(0, 300*time.Millisecond))
		}
		m.killing = false
	})
}
