package rules

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// correction gives an initial member the template of the corrected spec, and replaces
// the pod that was made from the former one. Nobody uses the cluster yet.
func (p Situation) correction(initial []string) *ops.Decision {
	if !ops.Unformed(p.S.Cluster) {
		return nil
	}
	for _, name := range initial {
		if !Outdated(p.S, p.S.Kube.Member(name)) {
			continue
		}
		return Do(ops.Step{ID: string(ops.ActionCorrect) + "/" + name, Action: ops.ActionCorrect, Members: []string{name},
			Risk: ops.RiskNone, Deadline: WaitDeadline,
			Title: "Give " + name + " the corrected spec", Reason: "the spec changed before the cluster formed",
			Touches: []string{"statefulset/" + name, "pod/" + v1alpha1.PodName(name)}})
	}
	return nil
}

// Outdated reports whether a member's workload or pod was rendered from
// something else than the cluster wants now.
func Outdated(s ops.State, m observe.Member) bool {
	differs := func(rendering string) bool { return rendering != "" && s.Rendering != "" && rendering != s.Rendering }
	return s.Ours(m) && !m.Workload.Terminating && (differs(m.Workload.Rendering) || !m.Pod.Terminating &&
		differs(m.Pod.Rendering))
}
