package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
)

// boot tries to start a member's process, the way its pod's template says and
// its data directory allows.
func (w *world) boot(s *slot) {
	p, v := s.pod, s.volume
	switch {
	case v == nil || v.deleting:
		p.trouble(observe.ProblemVolume, "persistentvolumeclaim "+s.name+" not found", w.now)
		return
	case w.now.Before(v.boundAt):
		if w.now.Sub(p.created) > 3*time.Second {
			p.trouble(observe.ProblemVolume, "waiting for a volume", w.now)
		}
		return
	case w.weather.unpullable(p.template.version, w.now):
		p.trouble(observe.ProblemImage, "image of "+p.template.version+" can't be pulled", w.now)
		return
	}
	why, empty := p.template.unfit, v.data == nil
	switch {
	case why != "":
	case v.data == nil && w.hasAgents():
		why = w.bootAgent(s)
	case v.data == nil:
		why = w.bootEmpty(s)
	default:
		why = w.bootData(s)
	}
	if why != "" {
		p.restarts++
		p.trouble(observe.ProblemCrashing, why, w.now)
		p.startAt = w.now.Add(min(time.Duration(1<<min(p.restarts, 8))*time.Second, 5*time.Minute))
		if p.restarts < 4 {
			w.logf("%s does not start: %s", s.name, why)
		}
		return
	}
	p.problem = nil
	p.process = &process{data: v.data, began: w.now, accepts: p.files.leaf.trusts}
	if empty && !p.template.bootstrap && v.data.group != nil && w.weather.storm > 0 && w.chance(0.1) {
		p.process.hung = true
		w.tally["joiner hung"]++
		w.logf("%s hangs", s.name)
	}
	p.readySoon = w.now.Add(w.between(0, 3*time.Second))
}

// bootEmpty starts on an empty volume: as an initial member, or into an existing group.
func (w *world) bootEmpty(s *slot) string {
	t := s.pod.template
	if t.bootstrap {
		id := initialID(s.name, t.token)
		for _, peer := range t.peers {
			other := w.find(peer)
			if peer == s.name || !w.meets(other) || w.now.Before(s.aloneUntil) || w.now.Before(s.cutUntil) {
				continue
			}
			if g := other.pod.process.data.group; g != nil {
				if e := g.entry(id); e != nil && e.started {
					return "member " + s.name + " has already been bootstrapped"
				}
			}
		}
		s.volume.data = &data{id: id, token: t.token, peers: slices.Clone(t.peers)}
		return ""
	}
	for _, peer := range t.peers {
		other := w.find(peer)
		if peer == s.name || !w.meets(other) || other.pod.process.data.group == nil {
			continue
		}
		return w.join(s, other.pod.process.data.group)
	}
	return "cannot fetch cluster info from peers"
}

// join starts a member with an empty volume in a group that exists.
func (w *world) join(s *slot, g *group) string {
	t := s.pod.template
	peers := slices.Clone(t.peers)
	slices.Sort(peers)
	if strings.Join(peers, ",") != strings.Join(g.names(), ",") {
		return fmt.Sprintf("member list differs: told %v, found %v", peers, g.names())
	}
	e := g.named(s.name)
	if e == nil {
		return "not in the member list"
	}
	if e.started {
		return "tocommit is out of range: was the log lost?"
	}
	if why := refusedVersion(g, t.version); why != "" {
		return why
	}
	if g.downgrade != 0 {
		return "incompatible with the running cluster: a downgrade is under way"
	}
	if g.learners() > t.learners() {
		return tooManyLearners
	}
	if minor(t.version) >= limitSince && g.widest > t.learners() {
		return "panic: it refuses a learner that is in the log of the others"
	}
	s.volume.data = &data{id: e.id, group: g, token: t.token}
	return ""
}

// bootData starts on what is there; how the cluster is to begin is ignored then.
func (w *world) bootData(s *slot) string {
	d, version := s.volume.data, s.pod.template.version
	if d.schema > minor(version) {
		return fmt.Sprintf("data of 3.%d can't be read by %s", d.schema, version)
	}
	if d.group == nil {
		return ""
	}
	if d.group.entry(d.id) == nil {
		return "the member has been permanently removed from the cluster"
	}
	if d.group.agreement != nil {
		return ""
	}
	if t := s.pod.template; d.group.learners() > t.learners() && minor(t.version) >= limitSince {
		return tooManyLearners
	}
	return refusedVersion(d.group, version)
}

// refusedVersion says why a binary may not take part in a group.
func refusedVersion(g *group, version string) string {
	switch m := minor(version); {
	case g.minor == 0 || m == g.minor || m == g.minor+1:
		return ""
	case m < g.minor:
		return fmt.Sprintf("invalid downgrade: the cluster speaks 3.%d, this is %s", g.minor, version)
	default:
		return fmt.Sprintf("incompatible: the cluster speaks 3.%d, this is %s", g.minor, version)
	}
}

// meet lets initial members find each other, and throws out members that were removed.
func (w *world) meet() {
	for _, s := range w.slots {
		if !w.meets(s) {
			continue
		}
		switch d := s.pod.process.data; {
		case d.group == nil:
			w.gather(s)
		case d.group.entry(d.id) == nil && w.leads(d.group) != nil && w.chance(0.3):
			s.pod.process = nil
			s.pod.trouble(observe.ProblemCrashing, "the member has been permanently removed from the cluster", w.now)
			s.pod.startAt = w.now.Add(5 * time.Second)
		}
	}
}

// gather puts a waiting initial member into the group of its words, or makes the
// group once a majority of initial members waits.
func (w *world) gather(s *slot) {
	d := s.pod.process.data
	var waiting []*slot
	for _, peer := range d.peers {
		other := w.find(peer)
		if !w.meets(other) {
			continue
		}
		od := other.pod.process.data
		if od.token != d.token {
			continue
		}
		if od.group == nil && slices.Equal(od.peers, d.peers) {
			waiting = append(waiting, other)
		}
		if od.group != nil && od.group.entry(d.id) != nil {
			d.group = od.group
			return
		}
	}
	if len(waiting) < quorum(len(d.peers)) {
		return
	}
	g := w.found(d.token, d.peers)
	for _, o := range waiting {
		o.pod.process.data.group, o.pod.process.data.index = g, g.index
	}
}
