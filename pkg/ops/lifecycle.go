package ops

import (
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// stopping takes the pods of a cluster that is wanted stopped, and nothing
// else: volumes, certificates and identity stay, so start brings back the
// same members.
func (p planner) stopping() *Decision {
	if !p.s.Cluster.Spec.Stopped || !p.s.formed() {
		return nil
	}
	if p.fresh() && p.s.verb() != v1alpha1.VerbStop && p.s.verb() != v1alpha1.VerbRepair {
		return block(&Error{Kind: Refused, Check: "stopped", Message: p.s.Cluster.Name + " is stopped",
			Hint: "start it first: kubectl dbop start " + p.s.Cluster.Name})
	}
	var names []string
	for _, m := range p.s.Kube.Members {
		if p.s.ours(m) && (m.Workload.Exists || m.Pod.Exists) {
			names = append(names, m.Name)
		}
	}
	if len(names) == 0 {
		if d := p.scheduling(); d != nil {
			return d
		}
		return &Decision{Done: true}
	}
	if d := p.lingering(names); d != nil {
		return d
	}
	return do(Step{ID: "stop-members", Action: ActionStop, Members: names, Risk: RiskDowntime, Deadline: waitDeadline,
		Title: "Stop " + strings.Join(names, ", ") + " and keep their volumes", Touches: statefulSets(names)})
}

// starting brings back members that have a volume of this epoch and no
// workload: all together, for only together they are a quorum. What the
// database says, as soon as it says anything, goes first: a member that is
// not in its list is not started but retired.
func (p planner) starting() *Decision {
	var names []string
	for _, m := range p.s.Kube.Members {
		_, registered := p.s.View.Registered(m.Name)
		if m.Volume.Exists && !m.Volume.Terminating && !m.Workload.Exists && p.s.ours(m) && (registered || !p.s.View.Quorum) {
			names = append(names, m.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return p.start(names, "its volume is there and its workload is not")
}
