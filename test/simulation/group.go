package simulation

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"
)

// group is one raft group: one history of writes, and who has a vote in it.
type group struct {
	token, clusterID string
	members          []entry
	// leader is the member's ID, "" for none; electAt when the next election ends.
	leader  string
	electAt time.Time
	// index is the end of the leader's log; acked what a client was told is
	// safe; safe what was acknowledged when the last backup asked for was made.
	index, acked, safe int
	// compacted is the revision from which on history is kept.
	compacted int64
	// history takes up space; spaceless are the IDs for which an alarm is raised,
	// filled is when clients last used up the space.
	history   bool
	spaceless []string
	filled    time.Time
	// minor is the version that the group speaks, 0 before it has agreed on one.
	minor    int
	settleAt time.Time
	// downgrade is the minor that was announced, 0 for none; endAt when it is called off.
	downgrade int
	endAt     time.Time
	// lastLoss is when a voter was last lost, by no deed of ours.
	lastLoss time.Time
	// damaged is set once a member's data was lost for good.
	damaged bool
	// access is who may log in; restored is true until a restored group's users
	// have the passwords of its own cluster.
	access   access
	restored bool
	// widest is the most learners that its log has at once.
	widest int
	// moved is when the leader last changed.
	moved time.Time
	// agreement is what agents know; nil for a database with a quorum of its own.
	agreement *agreement
	// dismissed are the IDs of the members that the tool wanted to be removed.
	dismissed map[string]bool
}

// entry is one line of the member list.
type entry struct {
	id, name string
	voter    bool
	started  bool
	// Of a member with an agent: whether it has joined, and holds no data; since
	// when it does not meet the others, and since when it does not keep up.
	whole, witness bool
	leaving        bool
	gone, away     time.Time
}

// initialID is the identity of an initial member: name and token only, so a second
// life with the same words has the same one.
func initialID(name, token string) string { return hash(name + "|" + token) }

func hash(s string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	return fmt.Sprintf("%016x", h.Sum64())
}

// found makes a group out of initial members.
func (w *world) found(token string, peers []string) *group {
	g := &group{token: token, clusterID: hash(token + "|" + fmt.Sprint(peers)), index: len(peers), lastLoss: w.now,
		dismissed: map[string]bool{}}
	for _, p := range peers {
		g.members = append(g.members, entry{id: initialID(p, token), name: p, voter: true})
	}
	for _, other := range w.groups {
		if other.token == token {
			w.violate("the cluster of token %s was formed twice: again by %v", token, peers)
		}
	}
	if w.hasAgents() {
		w.constituted(g)
	}
	w.groups = append(w.groups, g)
	w.logf("group %s formed by %v", g.clusterID, peers)
	return g
}

func (g *group) entry(id string) *entry {
	for i := range g.members {
		if g.members[i].id == id {
			return &g.members[i]
		}
	}
	return nil
}

func (g *group) named(name string) *entry {
	for i := range g.members {
		if g.members[i].name == name {
			return &g.members[i]
		}
	}
	return nil
}

func (g *group) voters() int {
	n := 0
	for _, e := range g.members {
		if e.voter {
			n++
		}
	}
	return n
}

func quorum(n int) int { return n/2 + 1 }

// serving returns the slots whose running process serves as that entry.
func (w *world) serving(g *group, e entry) *slot {
	s := w.find(e.name)
	if w.meets(s) && s.pod.process.data.group == g && s.pod.process.data.id == e.id {
		return s
	}
	return nil
}

// live returns the voters that meet each other.
func (w *world) live(g *group) []*slot {
	var out []*slot
	for _, e := range g.members {
		if e.voter {
			if s := w.serving(g, e); s != nil {
				out = append(out, s)
			}
		}
	}
	return out
}

// staying counts the live voters that nobody has told to go.
func (w *world) staying(g *group) int {
	n := 0
	for _, s := range w.live(g) {
		if !s.pod.deleting && (s.workload == nil || !s.workload.deleting) {
			n++
		}
	}
	return n
}

// leads returns the slot of the leader if a majority follows it.
func (w *world) leads(g *group) *slot {
	if g.agreement != nil {
		return w.primary(g)
	}
	if g.leader == "" {
		return nil
	}
	e := g.entry(g.leader)
	if e == nil || !e.voter || len(w.live(g)) < quorum(g.voters()) {
		return nil
	}
	return w.serving(g, *e)
}

// elect keeps or finds a leader.
func (w *world) elect(g *group) {
	live := w.live(g)
	if w.leads(g) != nil {
		return
	}
	g.leader = ""
	if len(live) < quorum(g.voters()) {
		g.electAt = time.Time{}
		return
	}
	if g.electAt.IsZero() {
		g.electAt = w.now.Add(w.between(300*time.Millisecond, 2500*time.Millisecond))
		return
	}
	if w.now.Before(g.electAt) {
		return
	}
	g.electAt = time.Time{}
	var fit []*slot
	for _, s := range live {
		behind := 0
		for _, o := range live {
			if o.pod.process.data.index <= s.pod.process.data.index {
				behind++
			}
		}
		if behind >= quorum(g.voters()) {
			fit = append(fit, s)
		}
	}
	if len(fit) == 0 {
		return
	}
	w.crown(g, fit[w.rng.IntN(len(fit))])
}

// crown makes a member the leader.
func (w *world) crown(g *group, s *slot) {
	d := s.pod.process.data
	g.leader, g.moved = d.id, w.now
	g.index = d.index
	if g.index < g.acked {
		w.violate("acknowledged writes %d..%d are lost: %s leads with %d", g.index+1, g.acked, s.name, g.index)
		g.acked = g.index
	}
}

// work lets clients write and members catch up, publish themselves and agree on a version.
func (w *world) work(g *group) {
	leader := w.leads(g)
	if leader == nil {
		return
	}
	lead := leader.pod.process.data
	live := w.live(g)
	if len(g.spaceless) == 0 && w.chance(0.6) {
		g.index += 1 + w.rng.IntN(3)
		lead.index = g.index
		have := 1
		for _, i := range w.rng.Perm(len(live)) {
			if d := live[i].pod.process.data; d != lead && have < quorum(g.voters()) {
				d.index = g.index
				have++
			}
		}
		if have >= quorum(g.voters()) {
			g.acked = g.index
		}
	}
	for i := range g.members {
		e := &g.members[i]
		s := w.serving(g, *e)
		if s == nil {
			continue
		}
		e.started = true
		if d := s.pod.process.data; d != lead && w.chance(0.8) {
			gap := g.index - d.index
			d.index += gap - gap/2*w.rng.IntN(2)
		}
	}
	w.agree(g)
}

// names returns the member list's names, sorted.
func (g *group) names() []string {
	out := make([]string, 0, len(g.members))
	for _, e := range g.members {
		out = append(out, e.name)
	}
	slices.Sort(out)
	return out
}
