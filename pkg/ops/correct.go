package ops

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// unformed reports whether a record is of a cluster that is being founded for
// the first time, and holds no data of a backup yet.
func unformed(c *v1alpha1.DatabaseCluster) bool {
	f := c.Status.Formation
	return f != nil && f.ClusterID == "" && f.Epoch == 0 && !f.Loaded
}

// Inherit is the function Inherit for the custom resource, and corrects the
// size of volumes as long as none was made. Later it takes a resize.
func (g Charge) Inherit(c *v1alpha1.DatabaseCluster) bool {
	changed := Inherit(g.Custom.Spec, c)
	size := g.Custom.Spec.Storage.Size
	if !unformed(c) || c.Spec.Storage.Size.Cmp(size) == 0 || g.Active != nil && (planner{s: State{Operation: g.Active}}).began(ActionStart) {
		return changed
	}
	c.Spec.Storage.Size = size.DeepCopy()
	return true
}

// correct copies what may have kept a cluster from forming, and what no
// operation can change before there is a cluster.
func correct(want v1alpha1.DatabaseClusterSpec, c *v1alpha1.DatabaseCluster) {
	if !unformed(c) {
		return
	}
	w := want.DeepCopy()
	c.Spec.Image, c.Spec.Version, c.Spec.Resources, c.Spec.Config = w.Image, w.Version, w.Resources, w.Config
}

// correction gives a founder the template of the corrected spec, and replaces
// the pod that was made from the former one. Nobody uses the cluster yet.
func (p planner) correction(founders []string) *Decision {
	if !unformed(p.s.Cluster) {
		return nil
	}
	for _, name := range founders {
		if !p.s.outdated(p.s.Kube.Member(name)) {
			continue
		}
		return do(Step{ID: string(ActionCorrect) + "/" + name, Action: ActionCorrect, Members: []string{name}, Risk: RiskNone, Deadline: waitDeadline,
			Title: "Give " + name + " the corrected spec", Reason: "the spec changed before the cluster formed",
			Touches: []string{"statefulset/" + name, "pod/" + v1alpha1.PodName(name)}})
	}
	return nil
}

// outdated reports whether a member's workload or pod was rendered from
// something else than the cluster wants now.
func (s State) outdated(m kube.Member) bool {
	differs := func(rendering string) bool { return rendering != "" && s.Rendering != "" && rendering != s.Rendering }
	return s.ours(m) && !m.Workload.Terminating && (differs(m.Workload.Rendering) || !m.Pod.Terminating && differs(m.Pod.Rendering))
}

// corrected predicts a member with the corrected spec.
func (s *State) corrected(name, settings string) {
	m := &s.Kube.Members[s.memberIndex(name)]
	m.Workload.Rendering, m.Workload.Settings, m.Workload.Version = s.Rendering, settings, s.Cluster.Spec.Version
	m.Pod = kube.Pod{}
}
