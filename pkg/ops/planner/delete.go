package planner

import (
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// deletion takes a last backup, stops the members, and drops what is asked to
// be dropped; the record of the cluster goes last, so that a killed deletion
// can be continued.
func (p Planner) deletion() *ops.Decision {
	if p.S.Verb() != v1alpha1.VerbDelete {
		return nil
	}
	if p.S.Formed() && !p.S.Waives("backup") {
		if d := p.backupFirst(false, false); d != nil {
			return d
		}
	}
	if names := p.running(); len(names) > 0 {
		if d := p.lingering(names); d != nil {
			return d
		}
		return do(ops.Step{ID: "stop-members", Action: ops.ActionStop, Members: names, Risk: ops.RiskDowntime, Deadline: WaitDeadline,
			Title: "Stop " + strings.Join(names, ", "), Touches: ops.StatefulSets(names)})
	}
	if volumes := p.dropped(); len(volumes) > 0 {
		step := ops.Step{ID: "delete-volumes", Action: ops.ActionDeleteVolume, Members: volumes, Risk: ops.RiskIrreversible, Deadline: WaitDeadline,
			Title: "Drop the volumes of " + strings.Join(volumes, ", "), Touches: claims(volumes)}
		if len(p.S.Operation.Spec.Unused) > 0 {
			step.Risk, step.Reason = ops.RiskNone, "no member ever ran, so they hold nothing"
		}
		return do(step)
	}
	if p.S.Fact(v1alpha1.FactObjectsDeleted) == "" {
		return do(ops.Step{ID: "delete-objects", Action: ops.ActionDeleteAll, Risk: ops.RiskIrreversible, Deadline: StepDeadline,
			Title: "Delete the services, the disruption budget, and the secrets with passwords, certificates and their authority"})
	}
	return do(ops.Step{ID: "delete-record", Action: ops.ActionForget, Risk: ops.RiskNone, Deadline: StepDeadline,
		Title: "Delete the record of the cluster", Touches: []string{"configmap/" + v1alpha1.Record(p.S.Cluster.Name)}})
}

func claims(members []string) []string {
	out := make([]string, len(members))
	for i, m := range members {
		out[i] = "persistentvolumeclaim/" + v1alpha1.VolumeName(m)
	}
	return out
}
