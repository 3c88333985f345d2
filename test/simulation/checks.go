package simulation

import (
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// watched carries out one effect of an actor and checks what it did.
func (w *world) watched(a *actor, cluster string, effect func() error) error {
	w.acting(a, cluster)
	w.journalled(a, cluster)
	if at := w.shared(cluster).pausedAt; !at.IsZero() && at.Before(a.observed) {
		w.violate("%s performs %s on %s, which is paused", a.name, a.step.ID, cluster)
	}
	if o := w.records.active(cluster); len(a.rivals) > 0 && o != nil && o.Spec.Verb != v1alpha1.VerbDelete {
		w.violate("%s performs %s although it saw %v lead, both", a.name, a.step.ID, a.rivals)
	}
	type margin struct {
		g  *group
		ok bool
	}
	var before []margin
	for _, g := range w.groups {
		before = append(before, margin{g, w.staying(g) >= quorum(g.voters())})
	}
	err := effect()
	for _, m := range before {
		if m.ok && w.staying(m.g) < quorum(m.g.voters()) && !w.excused(a, m.g) {
			w.violate("%s took the quorum of %s with %q: %d of %d voters stay", a.name, m.g.clusterID, a.step.ID,
				w.staying(m.g),
				m.g.voters())
		}
	}
	if a.step.Action == ops.ActionBudget {
		w.budgeted(a, cluster)
	}
	w.logf("%s: %s (%v)", a.name, a.step.ID, err)
	return err
}

// budgeted checks that evictions by others can't take a quorum.
func (w *world) budgeted(a *actor, cluster string) {
	c := w.records.clusters[cluster]
	for _, g := range w.groups {
		if c != nil && g.token == c.Status.Bootstrap.Token && w.kept(cluster) < w.engine.MinAvailable(g.joined()) {
			w.violate("%s sets a disruption budget below what %d members need", a.name, g.joined())
		}
	}
}

// kept is how many members evictions by others leave.
func (w *world) kept(cluster string) int {
	if b := w.shared(cluster).budget; b != nil {
		return int(*b)
	}
	return 0
}

// joined counts the members that have joined: voters, and with agents the spare ones.
func (g *group) joined() int {
	if g.agreement == nil {
		return g.voters()
	}
	data, witnesses := g.kinds()
	return data + witnesses
}

// excused reports whether quorum may be lost: the operation is to stop the
// cluster, it is too small to keep it, something else broke since the last
// observation, or there was none then.
func (w *world) excused(a *actor, g *group) bool {
	return a.step.Action == ops.ActionStop || a.step.Risk == ops.RiskDowntime && g.voters() <= 2 ||
		!g.lastLoss.Before(a.observed) || !a.quorum
}

// acting checks that only the holder of the lease acts. One that froze for
// longer than its lease may find out a moment too late, though never when it
// is about to do what can't be undone.
func (w *world) acting(a *actor, cluster string) {
	l := w.leases[leaseOf(cluster, a.scope)]
	if l != nil && l.holder == a {
		return
	}
	if !a.irreversible && (w.now.Before(a.frozenUntil.Add(2*time.Second)) || a.frozenUntil.Equal(w.now)) {
		return
	}
	w.violate("%s acts on %s without the lease: %s", a.name, cluster, a.step.ID)
}

// journalled checks that the step was written down before its effect.
func (w *world) journalled(a *actor, cluster string) {
	o := w.records.under(cluster, a.scope)
	if o == nil {
		w.violate("%s performs %s and no operation is in flight", a.name, a.step.ID)
		return
	}
	for _, e := range o.Status.Journal {
		if e.Step == a.step.ID {
			return
		}
	}
	if a.irreversible || w.now.After(a.frozenUntil.Add(2*time.Second)) {
		w.violate("%s performs %s before it is written down", a.name, a.step.ID)
	}
}

// dropping checks a volume that is about to be deleted.
func (w *world) dropping(a *actor, s *slot) {
	c := w.records.clusters[s.cluster]
	o := w.records.active(s.cluster)
	if c == nil || o == nil {
		w.violate("%s drops volume %s of a cluster that is not recorded", a.name, s.name)
		return
	}
	if o.Status.Phase == v1alpha1.PhaseCancelling && ops.IncarnationStartedBy(o, s.volume.token) && s.workload == nil &&
		s.pod == nil {
		return // a backup was loaded into it, and no member ran on it
	}
	if s.volume.token != c.Status.Bootstrap.Token {
		w.violate("%s drops volume %s of another incarnation", a.name, s.name)
	}
	d := s.volume.data
	if d == nil || d.group == nil || o.Spec.Verb == v1alpha1.VerbDelete && o.Spec.Purge {
		return
	}
	if d.group.entry(d.id) != nil {
		w.violate("%s drops volume %s of a registered member", a.name, s.name)
	} else if named := o.Spec.Member == s.name && (o.Spec.Verb == v1alpha1.VerbRemoveMember ||
		o.Spec.Verb == v1alpha1.VerbReplaceMember); !named && !d.group.dismissed[d.id] {
		w.violate("%s drops volume %s, and nobody asked for that member to be removed", a.name, s.name)
	}
	data := s.volume.data
	s.volume.data = nil
	if data.index >= data.group.acked && !w.copies(data.group) {
		w.violate("%s drops volume %s, the last copy of acknowledged writes", a.name, s.name)
	}
	s.volume.data = data
}

// reviving checks that only a joiner is restarted for its silence: a voter
// that is slow is waited for.
func (w *world) reviving(a *actor, s *slot) {
	if a.step.Action != ops.ActionRevive || w.now.Before(a.frozenUntil.Add(2*time.Second)) {
		return
	}
	w.tally["joiner revived"]++
	if s.pod == nil || s.pod.process == nil || s.pod.process.data.group == nil {
		return
	}
	if e := s.pod.process.data.group.entry(s.pod.process.data.id); e != nil && e.voter {
		w.violate("%s restarts %s for its silence, and it has a vote", a.name, s.name)
	}
}

// restarting checks the order of an upgrade or another roll.
func (w *world) restarting(a *actor, s *slot, c *v1alpha1.DatabaseCluster) {
	outdated := func(memberWorkload) bool { return false }
	switch a.step.Action {
	case ops.ActionUpgrade, ops.ActionDowngrade:
		outdated = func(t memberWorkload) bool { return t.version != c.Spec.Version }
	case ops.ActionRoll:
		want, former := w.settings(c), s.pod.template.settings
		outdated = func(t memberWorkload) bool { return t.settings != want && t.settings == former }
	}
	if s.pod == nil || s.pod.deleting || s.pod.process == nil || s.pod.process.data.group == nil {
		return
	}
	g := s.pod.process.data.group
	if g.leader != s.pod.process.data.id || !g.moved.Before(a.observed) || !g.lastLoss.Before(a.observed) {
		return
	}
	if data, _ := g.kinds(); data > 1 && !w.records.active(s.cluster).Waives("successor") &&
		!w.now.Before(a.frozenUntil.Add(2*time.Second)) {
		switch a.step.Action {
		case ops.ActionUpgrade, ops.ActionDowngrade, ops.ActionRoll, ops.ActionRestart:
			w.violate("%s restarts the primary %s, and nobody took over from it", a.name, s.name)
		}
	}
	for _, o := range w.live(g) {
		if o != s && outdated(o.pod.template) {
			w.violate("%s restarts the leader %s while %s still runs %s with %s", a.name, s.name, o.name,
				o.pod.template.version,
				o.pod.template.settings)
		}
	}
}
