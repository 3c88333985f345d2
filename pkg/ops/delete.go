package ops

import (
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// deletion takes a last backup, stops the members, and drops what is asked to
// be dropped; the record of the cluster goes last, so that a killed deletion
// can be continued.
func (p planner) deletion() *Decision {
	if p.s.verb() != v1alpha1.VerbDelete {
		return nil
	}
	if p.s.formed() && !p.s.waives("backup") {
		if d := p.backupFirst(false, false); d != nil {
			return d
		}
	}
	if names := p.running(); len(names) > 0 {
		if d := p.lingering(names); d != nil {
			return d
		}
		return do(Step{ID: "stop-members", Action: ActionStop, Members: names, Risk: RiskDowntime, Deadline: waitDeadline,
			Title: "Stop " + strings.Join(names, ", "), Touches: statefulSets(names)})
	}
	if volumes := p.dropped(); len(volumes) > 0 {
		step := Step{ID: "delete-volumes", Action: ActionDeleteVolume, Members: volumes, Risk: RiskIrreversible, Deadline: waitDeadline,
			Title: "Drop the volumes of " + strings.Join(volumes, ", "), Touches: claims(volumes)}
		if len(p.s.Operation.Spec.Unused) > 0 {
			step.Risk, step.Reason = RiskNone, "no member ever ran, so they hold nothing"
		}
		return do(step)
	}
	if p.s.fact(v1alpha1.FactObjectsDeleted) == "" {
		return do(Step{ID: "delete-objects", Action: ActionDeleteAll, Risk: RiskIrreversible, Deadline: stepDeadline,
			Title: "Delete the services, the disruption budget, and the secrets with passwords, certificates and their authority"})
	}
	return do(Step{ID: "delete-record", Action: ActionForget, Risk: RiskNone, Deadline: stepDeadline,
		Title: "Delete the record of the cluster", Touches: []string{"configmap/" + v1alpha1.Record(p.s.Cluster.Name)}})
}

func claims(members []string) []string {
	out := make([]string, len(members))
	for i, m := range members {
		out[i] = "persistentvolumeclaim/" + v1alpha1.VolumeName(m)
	}
	return out
}
