package simulation

import (
	"context"
	"fmt"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
)

const (
	// spaceQuota is what a member may have, spaceLittle what one has that is not full.
	spaceQuota, spaceLittle = 1000, 100
	noSpace                 = "NOSPACE"
)

// cram lets the clients of some group use its quota up: every member that
// takes part is full, of history, and the leader says so. A group of a few writes has no history to be full of.
func (w *world) cram() {
	if len(w.groups) == 0 {
		return
	}
	g := w.groups[w.rng.IntN(len(w.groups))]
	leader := w.leads(g)
	if leader == nil || len(g.spaceless) > 0 || g.agreement != nil || g.index < 2 {
		return
	}
	for _, s := range w.live(g) {
		s.pod.process.data.full = true
	}
	g.history, g.filled = true, w.now
	g.raise(leader.pod.process.data.id)
	w.logf("group %s has no space", g.clusterID)
}

func (g *group) raise(id string) {
	if !slices.Contains(g.spaceless, id) {
		g.spaceless = append(g.spaceless, id)
	}
}

// alarms lists what is, as any of the named members that runs tells it.
func (w *world) alarms(names []string) []engine.Alarm {
	var out []engine.Alarm
	for _, name := range names {
		s := w.find(name)
		if !w.runs(s) || s.pod.process.data.group == nil {
			continue
		}
		g := s.pod.process.data.group
		for _, id := range g.spaceless {
			a := engine.Alarm{Name: noSpace, Cause: engine.CauseSpace, MemberID: id}
			if e := g.entry(id); e != nil {
				a.Member = e.name
			}
			out = append(out, a)
		}
		break
	}
	return out
}

// crowded adds to what a member says how full it is.
func (g *group) crowded(m *engine.Member, d *data) {
	m.QuotaBytes, m.DataBytes, m.UsedBytes = spaceQuota, spaceLittle, spaceLittle
	if d.full {
		m.DataBytes = spaceQuota
	}
	if d.full && g.history {
		m.UsedBytes = spaceQuota
	}
	if slices.Contains(g.spaceless, d.id) {
		m.Alarms = []string{noSpace}
	}
}

// defragment rewrites a member's file, in which history stays that was not
// dropped. The leader hands over first, or clients notice.
func (s *site) defragment(ctx context.Context, step ops.Step) (ops.Result, error) {
	w, a, name := s.actor.world, s.actor, step.Members[0]
	err := s.do(ctx, step.ID, func() error {
		slot := w.find(name)
		if !w.runs(slot) || slot.pod.process.data.group == nil {
			return errNoLeader
		}
		d := slot.pod.process.data
		g := d.group
		if g.leader == d.id && len(w.live(g)) > 1 && g.moved.Before(a.observed) && g.lastLoss.Before(a.observed) &&
			step.Risk != ops.RiskDowntime {
			w.violate("%s defragments the leader %s", a.name, name)
		}
		d.full = d.full && g.history
		return nil
	})
	if err != nil {
		return ops.Result{}, err
	}
	return ops.Result{Facts: map[string]string{"defragmented-" + name: "done"}}, nil
}

// clearAlarms takes alarms back, or proves a write.
func (s *site) clearAlarms(ctx context.Context, st ops.State, step ops.Step) (ops.Result, error) {
	w, fact := s.actor.world, v1alpha1.FactWritten
	if step.Action == ops.ActionClearAlarms {
		fact = ""
	}
	err := s.do(ctx, step.ID, func() error {
		g, _, err := w.asked(s.cluster, st.Cluster.Status.Bootstrap.Token)
		switch {
		case err != nil:
			return err
		case step.Action == ops.ActionProveWrite && len(g.spaceless) > 0:
			return &engine.Refusal{Check: "space", Reason: "no space"}
		case step.Action == ops.ActionProveWrite:
			return nil
		}
		for _, m := range w.live(g) {
			if m.pod.process.data.full && g.filled.Before(s.actor.observed) {
				w.violate("%s takes the alarm of %s back, and %s is full", s.actor.name, s.cluster, m.name)
			}
		}
		for _, alarm := range st.View.Alarms {
			g.spaceless = slices.DeleteFunc(g.spaceless, func(id string) bool { return id == alarm.MemberID })
		}
		return nil
	})
	if err != nil || fact == "" {
		return ops.Result{}, err
	}
	return ops.Result{Facts: map[string]string{fact: "done"}}, nil
}

// spaceless reports whether an alarm is in a recorded cluster at rest.
func (w *world) spaceless(cluster string) bool {
	defer w.lock()()
	c := w.records.clusters[cluster]
	if c == nil || c.Spec.Stopped || c.Status.Bootstrap.ClusterID == "" || w.records.active(cluster) != nil {
		return false // one that never formed is created once more, or deleted
	}
	for _, g := range w.groups {
		if g.token == c.Status.Bootstrap.Token && w.leads(g) != nil && len(g.spaceless) > 0 {
			return true
		}
	}
	return false
}

// clear clears the alarms of a cluster, which must be possible once nothing
// goes wrong any more.
func (p *person) clear(name string) {
	if !p.world.spaceless(name) {
		return
	}
	err := p.attempt(func(ctx context.Context, r *runner.Runner) error {
		_, err := r.Run(ctx, Namespace, p.clearing(name))
		return err
	})
	still := p.world.spaceless(name)
	defer p.world.lock()()
	if (err != nil || still) && !p.world.hurt(name) {
		p.world.violate("the alarms of %s can't be cleared: %v", name, fmt.Sprint(err))
		return
	}
	p.world.tally["alarms cleared at the end"]++
}

func (p *person) clearing(name string) planner.Request {
	return planner.Request{Operation: v1alpha1.OperationSpec{Cluster: name, Verb: v1alpha1.VerbClearAlarms,
		Waive: []string{"downtime"}, SpaceParameters: v1alpha1.SpaceParameters{Compaction: &v1alpha1.Compaction{}}}}
}
