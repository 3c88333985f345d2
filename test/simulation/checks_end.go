package simulation

import (
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// ended checks what an operation says it has reached.
func (w *world) ended(o *v1alpha1.Operation) {
	w.tally[string(o.Spec.Verb)+" "+string(o.Status.Phase)]++
	w.logf("%s ends: %s %s", o.Name, o.Spec.Verb, o.Status.Phase)
	if o.Status.Phase != v1alpha1.PhaseSucceeded && (o.Status.Phase != v1alpha1.PhaseCancelled ||
		strings.HasPrefix(o.Status.Message, "superseded")) {
		return
	}
	c := w.records.clusters[o.Spec.Cluster]
	switch {
	case o.Spec.Verb == v1alpha1.VerbDelete:
		w.deleted(o, c)
	case o.Spec.Verb == v1alpha1.VerbBackup:
		switch b, ok := w.backups[o.Spec.Backup]; {
		case o.Status.Phase != v1alpha1.PhaseSucceeded:
		case !ok:
			w.violate("%s succeeded without a backup", o.Name)
		case o.Spec.Verify && b.proof == "":
			w.violate("%s called a backup verified that proves nothing", o.Name)
		}
	case o.Spec.Verb == v1alpha1.VerbSchedule:
		w.timed(o, c)
	case c == nil:
		w.violate("%s ended and its cluster is gone", o.Name)
	default:
		w.settled(o, c)
		w.rotated(o)
	}
}

// settled checks that a cluster is what it is wanted to be.
func (w *world) settled(o *v1alpha1.Operation, c *v1alpha1.DatabaseCluster) {
	var g *group
	for _, other := range w.groups {
		if other.token == c.Status.Bootstrap.Token {
			g = other
		}
	}
	if g == nil || c.Status.Bootstrap.ClusterID != g.clusterID {
		w.violate("%s succeeded and the cluster of token %s is not formed", o.Name, c.Status.Bootstrap.Token)
		return
	}
	if g.agreement != nil {
		w.constitution(o, c, g)
	} else if g.voters() != int(c.Spec.Members) || len(g.members) != g.voters() {
		w.violate("%s succeeded with %d voters of %d registered, wanted %d", o.Name, g.voters(), len(g.members),
			c.Spec.Members)
	}
	w.droppedHistory(o, g)
	for _, name := range c.Status.Bootstrap.Removing {
		if g.named(name) != nil {
			w.violate("%s ended (%s), %s is a member, and it is written down that it is being removed", o.Name,
				o.Status.Phase,
				name)
		}
	}
	if o.Spec.Verb == v1alpha1.VerbDowngrade && !w.hasAgents() && (g.downgrade != 0 || g.minor != minor(c.Spec.Version)) {
		w.violate("%s ended and the cluster speaks 3.%d, announced 3.%d, wanted %s", o.Name, g.minor, g.downgrade,
			c.Spec.Version)
	}
	for _, s := range w.slots {
		l := s.workload
		switch {
		case s.cluster != c.Name || l == nil || l.token != c.Status.Bootstrap.Token:
		case g.named(s.name) == nil && !w.expelled[s.name].IsZero() && o.Spec.Member != s.name:
		case g.named(s.name) == nil:
			w.violate("%s succeeded and %s still runs", o.Name, s.name)
		case (o.Spec.Verb == v1alpha1.VerbUpgrade || o.Spec.Verb == v1alpha1.VerbDowngrade) && l.version != c.Spec.Version:
			w.violate("%s succeeded and %s is on %s, wanted %s", o.Name, s.name, l.version, c.Spec.Version)
		case configures(o) && o.Status.Phase == v1alpha1.PhaseSucceeded && s.volume != nil &&
			s.volume.capacity.Cmp(c.Spec.Storage.Size) < 0:
			w.violate("%s succeeded and the volume of %s has %s", o.Name, s.name, s.volume.capacity.String())
		case configures(o) && l.settings != w.settings(c):
			w.violate("%s (%s) ends and %s has settings %s, wanted %s", o.Name, o.Status.Phase, s.name, l.settings,
				w.settings(c))
		}
	}
	if n := g.joined(); w.kept(c.Name) != w.engine.MinAvailable(n) && !w.unsized(o) {
		w.violate("%s succeeded and the disruption budget of %d members is %d", o.Name, n, w.kept(c.Name))
	}
}

// unsized reports whether an operation ends without asking how many members
// there are: somebody else took a member from the list since the last observation, or
// it stops a cluster that lost one so, or that is half made: a deletion ended what was in flight, and was killed before
// it was written down itself.
func (w *world) unsized(o *v1alpha1.Operation) bool {
	c := w.records.clusters[o.Spec.Cluster]
	stops := o.Spec.Verb == v1alpha1.VerbStop || c != nil && c.Spec.Stopped
	for _, s := range w.slots {
		at, expelled := w.expelled[s.name]
		if s.cluster == o.Spec.Cluster && expelled && (stops || w.now.Sub(at) < time.Minute) {
			return true
		}
	}
	if !stops {
		return false
	}
	for _, other := range w.records.of(o.Spec.Cluster) {
		if strings.HasPrefix(other.Status.Message, "superseded") {
			return true
		}
	}
	return false
}

// deleted checks that nothing is left of a cluster but what was to be kept.
func (w *world) deleted(o *v1alpha1.Operation, c *v1alpha1.DatabaseCluster) {
	if c != nil {
		w.violate("%s succeeded and the record of the cluster is still there", o.Name)
	}
	for _, s := range w.slots {
		if s.cluster == o.Spec.Cluster && (s.workload != nil || s.pod != nil) {
			w.violate("%s succeeded and %s still runs", o.Name, s.name)
		}
	}
	if sh := w.shared(o.Spec.Cluster); sh.budget != nil || sh.services {
		w.violate("%s succeeded and shared objects are left", o.Name)
	}
}
