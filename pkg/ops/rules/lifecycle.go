package rules

import (
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// Running lists the members of this incarnation that have a workload or a pod.
func (p Situation) Running() []string {
	var out []string
	for _, m := range p.S.Kube.Members {
		if m.Workload.Exists || m.Pod.Exists {
			out = append(out, m.Name)
		}
	}
	return out
}

// Stopping takes the pods of a cluster that is wanted stopped, and nothing
// else: volumes, certificates and identity stay, so start brings back the
// same members.
func (p Situation) Stopping() *ops.Decision {
	if !p.S.Cluster.Spec.Stopped || !p.S.Formed() {
		return nil
	}
	if p.Fresh() && !p.Traits.Stopped {
		return Stopped(p.S.Cluster)
	}
	var names []string
	for _, m := range p.S.Kube.Members {
		if p.S.Ours(m) && (m.Workload.Exists || m.Pod.Exists) {
			names = append(names, m.Name)
		}
	}
	if len(names) == 0 {
		if d := p.Scheduling(); d != nil {
			return d
		}
		if d := p.Archiving(); d != nil {
			return d
		}
		return &ops.Decision{Done: true}
	}
	if d := p.Lingering(names); d != nil {
		return d
	}
	return Do(ops.Step{ID: "stop-members", Action: ops.ActionStop, Members: names, Risk: ops.RiskDowntime,
		Deadline: WaitDeadline,
		Title:    "Stop " + strings.Join(names, ", ") + " and keep their volumes", Touches: ops.StatefulSets(names)})
}

// Stopped is the refusal of what takes running members.
func Stopped(c *v1alpha1.DatabaseCluster) *ops.Decision {
	return Block(&ops.Error{Kind: ops.Refused, Check: "stopped", Message: c.Name + " is stopped",
		Hint: "start it first: kubectl dbop start " + c.Name})
}

// Starting brings back members that have a volume of this incarnation and no
// workload: all together, for only together they are a quorum. What the
// database says, as soon as it says anything, goes first: a member that is
// not in its list is not started but retired.
func (p Situation) Starting() *ops.Decision {
	var names []string
	for _, m := range p.S.Kube.Members {
		_, registered := p.S.View.Registered(m.Name)
		if m.Volume.Exists && !m.Volume.Terminating && !m.Workload.Exists && p.S.Ours(m) &&
			(registered || !p.S.View.Quorum) {
			names = append(names, m.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return p.Start(names, "its volume is there and its workload is not")
}
