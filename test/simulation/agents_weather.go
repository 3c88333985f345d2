package simulation

import (
	"context"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
)

// spareable reports whether a member's data may be lost: the rest is a majority,
// and one of it has all that was acknowledged. No cluster loses data and has a
// member taken from its list, too: a start that then wants another member, and
// can't have it beside the lost one, has no end yet but a deletion.
func (w *world) spareable(g *group, s *slot) bool {
	if w.leads(g) == nil || len(w.live(g)) < g.voters() || g.voters() < 3 {
		return false
	}
	for _, o := range w.slots {
		if !w.expelled[o.name].IsZero() && o.cluster == s.cluster {
			return false
		}
	}
	for _, e := range g.members {
		if o := w.find(e.name); o == nil || o.volume == nil || o.volume.data == nil || o.volume.data.stale {
			return false
		}
	}
	if lead := w.leads(g); lead != s {
		return true
	}
	return len(w.eligible(g)) > 0
}

// blowAgents lets go wrong what only happens beside agents.
func (w *world) blowAgents(s *slot) {
	if s.volume == nil || s.volume.data == nil || s.volume.data.group == nil {
		return
	}
	g := s.volume.data.group
	e := g.entry(s.volume.data.id)
	switch {
	case e == nil || !w.recorded(g):
	case w.chance(0.3):
		if lead := w.leads(g); lead != nil && w.runs(lead) {
			w.struck(lead)
			lead.aloneUntil = w.now.Add(w.between(10*time.Second, 60*time.Second))
			w.logf("the primary %s loses its peers until %.1fs", lead.name, lead.aloneUntil.Sub(w.started).Seconds())
		}
	case w.chance(0.6):
		if w.spareable(g, s) {
			w.rollBack(g, s)
		}
	case !w.weather.spacious && !g.damaged && len(w.expelled) < 2 && e.id != g.leader && e.whole && w.spareable(g, s) &&
		len(g.members) > 2:
		w.struck(s)
		id := e.id
		_ = w.dismiss(g, s.name)
		if g.entry(id) == nil {
			w.expelled[s.name] = w.now
			w.tally["expelled by somebody else"]++
			w.logf("somebody takes %s out of the member list", s.name)
		}
	}
}

// delay keeps a replica from streaming for a while.
func (w *world) delay(s *slot) {
	s.lagUntil = w.now.Add(w.between(10*time.Second, 90*time.Second))
	w.logf("%s lags until %.1fs", s.name, s.lagUntil.Sub(w.started).Seconds())
}

// rollBack brings an old copy of a member's volume back.
func (w *world) rollBack(g *group, s *slot) {
	old := *s.volume.data
	old.index = max(0, old.index-w.rng.IntN(200))
	old.stale = true
	s.volume.data = &old
	w.struck(s)
	w.tally["stale volume"]++
	w.logf("the volume of %s is from earlier, %d of %d", s.name, old.index, g.acked)
	if s.pod != nil {
		s.pod.process = nil
		s.pod.trouble(observe.ProblemNode, "node lost", w.now)
		w.deletePod(s)
	}
}

// constitution checks who is a member, who is a witness and who votes.
func (w *world) constitution(o *v1alpha1.Operation, c *v1alpha1.DatabaseCluster, g *group) {
	data, witnesses := g.kinds()
	wanted := w.engine.Witnesses(c.Spec)
	if w.unsized(o) {
		return
	}
	if data != int(c.Spec.Members) || witnesses != wanted || len(g.members) != data+witnesses {
		w.violate("%s succeeded with %d members and %d witnesses of %d listed, wanted %d and %d", o.Name, data, witnesses,
			len(g.members), c.Spec.Members, wanted)
	}
	serving := 0
	for _, e := range g.members {
		if w.serving(g, e) != nil {
			serving++
		}
	}
	// Votes are given to who is there to take them.
	if want := agreed.Votes(data, witnesses); serving == len(g.members) && g.voters() != want {
		w.violate("%s succeeded with %d voters of %d members and %d witnesses, wanted %d", o.Name, g.voters(), data,
			witnesses, want)
	}
	for _, e := range g.members {
		if s := w.find(e.name); s != nil && s.workload != nil && s.workload.witness != e.witness {
			w.violate("%s succeeded, and the pod of %s is that of a witness: %v, and it is one: %v", o.Name, e.name,
				s.workload.witness, e.witness)
		}
	}
}

// tidy removes what is left of members that somebody else took from the list.
func (p *person) tidy(name string) {
	for _, member := range p.world.leftovers(name) {
		err := p.attempt(func(ctx context.Context, r *runner.Runner) error {
			_, err := r.Run(ctx, Namespace, planner.Request{Operation: v1alpha1.OperationSpec{Cluster: name,
				Verb: v1alpha1.VerbRemoveMember, Member: member}})
			return err
		})
		left := p.world.leftovers(name)
		unlock := p.world.lock()
		if err != nil && ops.KindOf(err) != ops.Busy && !p.world.hopeless(name, err) {
			p.world.violate("what is left of %s can't be removed: %v", member, err)
		}
		if err == nil && len(left) > 0 && left[0] == member {
			p.world.violate("%s was removed, and something is left of it", member)
		}
		p.world.tally["removed what was left of a member"]++
		unlock()
	}
}

// leftovers are the members of a formed cluster that are not listed and have objects.
func (w *world) leftovers(cluster string) []string {
	defer w.lock()()
	c := w.records.clusters[cluster]
	if c == nil || c.Status.Bootstrap.ClusterID == "" || c.Spec.Stopped {
		return nil
	}
	var out []string
	for _, g := range w.groups {
		for _, s := range w.slots {
			if g.token == c.Status.Bootstrap.Token && s.cluster == cluster && !w.expelled[s.name].IsZero() &&
				g.named(s.name) == nil &&
				(s.workload != nil && s.workload.token == g.token || s.volume != nil && s.volume.token == g.token) {
				out = append(out, s.name)
			}
		}
	}
	return out
}
