package planner

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// correct copies what may have kept a cluster from forming, and what no
// operation can change before there is a cluster.
func correct(want v1alpha1.DatabaseClusterSpec, c *v1alpha1.DatabaseCluster) {
	if !ops.Unformed(c) {
		return
	}
	w := want.DeepCopy()
	c.Spec.Image, c.Spec.Version, c.Spec.Resources, c.Spec.Config = w.Image, w.Version, w.Resources, w.Config
}

// correction gives a founder the template of the corrected spec, and replaces
// the pod that was made from the former one. Nobody uses the cluster yet.
func (p Planner) correction(founders []string) *ops.Decision {
	if !ops.Unformed(p.S.Cluster) {
		return nil
	}
	for _, name := range founders {
		if !outdated(p.S, p.S.Kube.Member(name)) {
			continue
		}
		return do(ops.Step{ID: string(ops.ActionCorrect) + "/" + name, Action: ops.ActionCorrect, Members: []string{name}, Risk: ops.RiskNone, Deadline: WaitDeadline,
			Title: "Give " + name + " the corrected spec", Reason: "the spec changed before the cluster formed",
			Touches: []string{"statefulset/" + name, "pod/" + v1alpha1.PodName(name)}})
	}
	return nil
}

// outdated reports whether a member's workload or pod was rendered from
// something else than the cluster wants now.
func outdated(s ops.State, m observe.Member) bool {
	differs := func(rendering string) bool { return rendering != "" && s.Rendering != "" && rendering != s.Rendering }
	return s.Ours(m) && !m.Workload.Terminating && (differs(m.Workload.Rendering) || !m.Pod.Terminating && differs(m.Pod.Rendering))
}

// corrected predicts a member with the corrected spec.
func corrected(s *ops.State, name, settings string) {
	m := &s.Kube.Members[s.MemberIndex(name)]
	m.Workload.Rendering, m.Workload.Settings, m.Workload.Version = s.Rendering, settings, s.Cluster.Spec.Version
	m.Pod = observe.Pod{}
}
