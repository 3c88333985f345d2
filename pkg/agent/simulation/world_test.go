package simulation

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// mistake names what a world does wrong on purpose. The empty one is none.
type mistake string

const (
	guardSleeps      mistake = "the guard never kills"
	floorForgotten   mistake = "the floor is not on disk"
	cutPretended     mistake = "the upstream is cut only after the report"
	anyUpstream      mistake = "replicas stream from any generation"
	backendsIgnored  mistake = "a dead postmaster counts as a stopped server"
	rollbackAccepted mistake = "a rolled back group log is accepted"
	fastLeader       mistake = "the clock of a leader runs three times too fast"
	volumeKept       mistake = "a copy made anew keeps its volume's name"
	startRepeated    mistake = "an agent starts twice with one number"
	setIgnored       mistake = "the server waits for nobody"
)

// options choose what a world may do.
type options struct {
	mistake    mistake
	founders   int
	witness    bool
	durability protocol.Durability
	// lyingClocks run at any rate: then only strict promises anything.
	lyingClocks bool
	// pauses stop a whole member, guard and server included: then only strict promises anything.
	pauses bool
	// volumes may be emptied or rolled back, one in a world.
	volumes bool
	length  time.Duration
}

type happening struct {
	at  time.Duration
	seq int
	do  func()
}

type queue []happening

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].seq < q[j].seq
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(happening)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	h := (*q)[last]
	*q = (*q)[:last]
	return h
}

// ack is a write that a client was told of.
type ack struct {
	id, generation uint64
	index          int
}

// world is one run: members, links, and what must hold.
type world struct {
	options
	rng     *rand.Rand
	now     time.Duration
	seq     int
	steps   int
	events  queue
	members []*member
	cut     [][]bool
	loss    float64
	calm    bool

	founder *protocol.Found
	// agreed are all entries that were ever applied, by index.
	agreed []protocol.Entry
	// document is what they make, follows of each generation whether its primary began to follow a source.
	document protocol.Document
	follows  map[protocol.Generation]bool
	rows     uint64
	// durable is the last row that may never be lost; acks count all of them.
	durable   ack
	acks      int
	lastAck   time.Duration
	ackedIn   uint64
	reported  map[protocol.MemberID]protocol.Generation
	timelines map[uint64]bool
	systems   int
	primaries int
	switches  int
	damaged   *member
	log       []string
	failure   string
}

func newWorld(seed uint64, o options) *world {
	w := &world{
		options: o, rng: rand.New(rand.NewPCG(seed, 1)),
		reported: map[protocol.MemberID]protocol.Generation{}, timelines: map[uint64]bool{},
		follows: map[protocol.Generation]bool{},
	}
	settings := protocol.Settings{
		Timing: protocol.DefaultTiming(), Durability: o.durability, MaxLag: 200, Acknowledge: 1,
	}
	if o.founders == 5 {
		settings.Acknowledge = 1 + w.rng.IntN(2)
	}
	w.founder = &protocol.Found{Token: "token", Settings: settings}
	for i := range o.founders + 2 {
		m := &member{world: w, number: i, id: protocol.MemberID(fmt.Sprintf("m%d", i+1)), rate: 1}
		m.rate += (w.rng.Float64()*2 - 1) * float64(settings.Timing.DriftPPM) / 1e6
		if o.lyingClocks {
			m.rate = 0.2 + w.rng.Float64()*4
		}
		m.offset = time.Duration(w.rng.Int64N(int64(time.Hour)))
		m.witness = o.witness && i == o.founders-1
		m.disk.seen = make([]seen, o.founders+2)
		w.members = append(w.members, m)
		w.cut = append(w.cut, make([]bool, o.founders+2))
		if i < o.founders {
			m.founder = true
			w.founder.InitialMembers = append(w.founder.InitialMembers, protocol.InitialMember{ID: m.id, Witness: m.witness})
		}
	}
	data := o.founders
	if o.witness {
		data--
	}
	target := protocol.TargetVoters(data, o.founders-data)
	for _, m := range w.members[:o.founders] {
		m.disk.log = []record{{term: 1, entry: &protocol.Configured{Voters: w.ids(1<<target - 1)}, voters: 1<<target - 1}}
		m.disk.term = 1
		w.after(w.between(0, 3*time.Second), m.boot)
	}
	w.after(20*time.Second, w.trouble)
	return w
}

func (w *world) ids(voters uint) []protocol.MemberID {
	var ids []protocol.MemberID
	for _, m := range w.members {
		if voters&(1<<m.number) != 0 {
			ids = append(ids, m.id)
		}
	}
	return ids
}

func (w *world) after(d time.Duration, do func()) {
	w.seq++
	heap.Push(&w.events, happening{at: w.now + d, seq: w.seq, do: do})
}

func (w *world) between(low, high time.Duration) time.Duration {
	return low + time.Duration(w.rng.Int64N(int64(high-low)+1))
}

func (w *world) chance(p float64) bool { return w.rng.Float64() < p }

func (w *world) logf(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%9.3f ", w.now.Seconds())+fmt.Sprintf(format, args...))
	if len(w.log) > 4000 {
		w.log = slices.Clone(w.log[2000:])
	}
}

func (w *world) fail(format string, args ...any) {
	if w.failure == "" {
		w.failure = fmt.Sprintf(format, args...)
		w.logf("VIOLATED: %s", w.failure)
	}
}

// run goes on until the end or the first violation; faults end before the last two minutes.
func (w *world) run() string {
	for w.failure == "" && len(w.events) > 0 {
		h := heap.Pop(&w.events).(happening)
		if h.at > w.length {
			break
		}
		w.now = h.at
		w.steps++
		if !w.calm && w.now > w.length-2*time.Minute {
			w.heal()
		}
		h.do()
	}
	if w.failure == "" {
		w.settled()
	}
	return w.failure
}

// heal ends all faults.
func (w *world) heal() {
	w.calm, w.loss = true, 0
	for _, row := range w.cut {
		clear(row)
	}
	w.logf("all faults end")
	w.after(10*time.Second, w.thereAndBack)
}

// settled checks what must hold some time after the last fault.
func (w *world) settled() {
	if w.damaged != nil || w.lyingClocks {
		return
	}
	if idle := w.now - w.lastAck; idle > 15*time.Second {
		var why []string
		for _, m := range w.members {
			if m.agent != nil && m.leader {
				why = append(why, fmt.Sprintf("%s leads: %q", m.id, m.agent.Blocked()))
			}
		}
		w.fail("nothing was acknowledged for %s, two minutes after the last fault: %v", idle, why)
	}
	for _, m := range w.members {
		if m.agent != nil && m.leader && len(m.agent.Document().Voters)%2 == 0 {
			w.fail("the voters are even at rest: %v", m.agent.Document().Voters)
		}
	}
}

// apply checks an entry against what any member applied at its index before.
func (w *world) apply(m *member, index int, e protocol.Entry) {
	for len(w.agreed) < index {
		w.agreed = append(w.agreed, nil)
	}
	switch known := w.agreed[index-1]; {
	case known == nil:
		w.agreed[index-1] = e
		w.followed(index, e)
		if r, ok := e.(*protocol.Release); ok {
			w.release(r)
		}
	case known != e:
		w.fail("%s applies another entry at %d than was agreed: %s", m.id, index, e.Kind())
	}
}

// release checks that nothing of the server is left.
func (w *world) release(r *protocol.Release) {
	for _, m := range w.members {
		if m.id == r.Member && m.server.role == protocol.Primary && m.server.generation == r.Generation {
			w.logf("%s releases generation %d", r.Member, r.Generation)
			w.fail("%s released generation %d while its server runs", r.Member, r.Generation)
		}
	}
}

// acknowledge checks the invariants at a write that a client is told of.
func (w *world) acknowledge(m *member, index int) {
	s := &m.server
	g := uint64(s.generation)
	if g < w.ackedIn && !w.lyingClocks && !w.pauses {
		w.fail("%s acknowledges a write in generation %d after one in generation %d", m.id, g, w.ackedIn)
	}
	w.ackedIn = max(w.ackedIn, g)
	w.acks++
	w.lastAck = w.now
	if s.set.Need > 0 && (w.durability == protocol.Strict || w.agreedSet(s.set.Version)) && index >= w.durable.index {
		w.durable = ack{id: m.disk.rows[index].id, generation: g, index: index}
	}
}

// agreedSet says whether a set is the only one in force, as some member knows.
func (w *world) agreedSet(version uint64) bool {
	for _, m := range w.members {
		if m.agent != nil {
			if d := m.agent.Document(); d.Sets > version || len(d.InForce) != 1 && d.Sets == version {
				return false
			}
		}
	}
	return true
}

// promoted checks the invariants at a promotion.
func (w *world) promoted(m *member) {
	s := &m.server
	w.primaries++
	w.logf("%s is promoted in generation %d with %d rows, timeline %d", m.id, s.generation, len(m.disk.rows),
		m.timeline())
	if w.timelines[m.timeline()] {
		w.fail("timeline %d is used twice", m.timeline())
	}
	w.timelines[m.timeline()] = true
	if w.durable.id != 0 && (len(m.disk.rows) <= w.durable.index || m.disk.rows[w.durable.index].id != w.durable.id) {
		w.fail("%s is promoted in generation %d without row %d at %d, acknowledged in generation %d",
			m.id, s.generation, w.durable.id, w.durable.index, w.durable.generation)
	}
}
