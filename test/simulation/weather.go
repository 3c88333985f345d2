package simulation

import (
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
)

// weather is what goes wrong by itself.
type weather struct {
	// storm is the chance, per tick, that something happens; 0 for none.
	storm float64
	// failures is the share of requests that fail.
	failures   float64
	downUntil  time.Time
	missing    string
	missingTil time.Time
	// losses is how many volumes may still be lost.
	losses int
	// spacious: no quota is used up.
	spacious bool
}

// Storm sets how bad the weather is.
func (w *world) Storm(chance, failures float64, losses int) {
	defer w.lock()()
	w.weather.storm, w.weather.failures, w.weather.losses = chance, failures, losses
}

// spacious keeps quotas from being used up until the weather changes.
func (w *world) spacious() {
	defer w.lock()()
	w.weather.spacious = true
}

// Calm ends all faults and everything that passes by itself.
func (w *world) Calm() {
	defer w.lock()()
	w.weather = weather{}
	for _, s := range w.slots {
		s.cutUntil, s.aloneUntil, s.lagUntil = w.now, w.now, w.now
	}
	w.logf("the faults are over")
}

func (f weather) down(now time.Time) bool { return now.Before(f.downUntil) }

func (f weather) unpullable(version string, now time.Time) bool {
	return version == f.missing && now.Before(f.missingTil)
}

// blow lets things go wrong.
func (w *world) blow() {
	if w.weather.storm == 0 || !w.chance(w.weather.storm) {
		return
	}
	if w.chance(0.1) {
		w.weather.downUntil = w.now.Add(w.between(time.Second, 25*time.Second))
		w.logf("the API server is away until %.1fs", w.weather.downUntil.Sub(w.started).Seconds())
		return
	}
	if len(w.slots) == 0 {
		return
	}
	s := w.slots[w.rng.IntN(len(w.slots))]
	switch what := w.rng.IntN(9); {
	case what < 2 && s.pod != nil:
		w.struck(s)
		w.deletePod(s)
		w.logf("pod of %s is evicted", s.name)
	case what == 2 && s.pod != nil && s.pod.process != nil:
		w.struck(s)
		s.pod.process, s.pod.startAt = nil, w.now.Add(w.between(time.Second, 10*time.Second))
		s.pod.restarts++
		w.logf("%s crashes", s.name)
	case what == 3 && s.pod != nil:
		w.struck(s)
		s.cutUntil = w.now.Add(w.between(time.Second, 40*time.Second))
		w.logf("%s is cut off or frozen until %.1fs", s.name, s.cutUntil.Sub(w.started).Seconds())
	case what == 4 && s.pod != nil:
		w.struck(s)
		s.aloneUntil = w.now.Add(w.between(time.Second, 40*time.Second))
		w.logf("%s loses its peers until %.1fs", s.name, s.aloneUntil.Sub(w.started).Seconds())
	case what == 5 && s.pod != nil:
		w.weather.missing, w.weather.missingTil = s.pod.template.version,
			w.now.Add(w.between(5*time.Second, 90*time.Second))
	case what == 6 && w.weather.losses > 0:
		w.lose(s)
	case what == 8 && w.hasAgents():
		w.blowAgents(s)
	case what == 8 && !w.weather.spacious:
		w.cram()
	case w.hasAgents() && w.chance(0.6):
		w.delay(s)
	default:
		w.topple()
	}
}

// topple moves some group's leadership.
func (w *world) topple() {
	if len(w.groups) == 0 {
		return
	}
	g := w.groups[w.rng.IntN(len(w.groups))]
	if g.agreement != nil {
		if fit := w.eligible(g); w.leads(g) != nil && len(fit) > 0 {
			w.tally["failover without a reason"]++
			w.appoint(g, fit[w.rng.IntN(len(fit))])
		}
		return
	}
	live := w.live(g)
	leader := w.leads(g)
	if leader == nil {
		return
	}
	for _, i := range w.rng.Perm(len(live)) {
		if d := live[i].pod.process.data; live[i] != leader && d.index >= g.acked {
			w.crown(g, live[i])
			return
		}
	}
}

// lose takes a member's data for good: the volume, or only what is in it. It
// spares founding clusters and never takes more than a minority of a group.
func (w *world) lose(s *slot) {
	if s.volume == nil || s.volume.data == nil || s.volume.data.group == nil {
		return
	}
	d := s.volume.data
	g, e := d.group, d.group.entry(d.id)
	if g.agreement != nil {
		if lead := w.leads(g); lead != nil && w.chance(0.5) {
			s, e = lead, g.entry(g.leader)
		}
		if e == nil || !w.spareable(g, s) {
			return
		}
	}
	if e == nil || !e.voter && g.agreement == nil || !w.recorded(g) || len(w.live(g)) < g.voters() {
		return
	}
	if g.voters() < 3 {
		return
	}
	w.struck(s)
	w.weather.losses--
	if w.chance(0.3) {
		s.volume = nil
		w.logf("volume %s is lost", s.name)
	} else {
		s.volume.data = nil
		w.logf("what volume %s holds is lost", s.name)
	}
	g.damaged = true
	if s.pod != nil {
		s.pod.process = nil
		s.pod.trouble(observe.ProblemNode, "node lost", w.now)
		w.deletePod(s)
	}
}

// struck notes that a group lost a member, by no deed of ours.
func (w *world) struck(s *slot) {
	for _, g := range w.groups {
		if g.named(s.name) != nil {
			g.lastLoss = w.now
		}
	}
}

// recorded reports whether the group's identity is written down.
func (w *world) recorded(g *group) bool {
	for _, c := range w.records.clusters {
		if f := c.Status.Bootstrap; f != nil && f.Token == g.token && f.ClusterID != "" {
			return true
		}
	}
	return false
}
