package operation

import (
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/backups"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// Delete ends a cluster.
type Delete struct{ rules.Plain }

// Traits implements rules.Operation.
func (Delete) Traits() rules.Traits { return rules.Traits{Unformed: true} }

// Manners implements rules.Operation.
func (Delete) Manners() ops.Manners {
	return ops.Manners{
		Ends: true,
		Same: func(have, asked v1alpha1.OperationSpec) bool {
			return have.Purge == asked.Purge && slices.Equal(have.Waive, asked.Waive)
		},
	}
}

// Resolve writes down the volumes that hold nothing.
func (Delete) Resolve(_ engine.Engine, o *v1alpha1.OperationSpec, s ops.State) error {
	o.Unused = rules.Unused(s)
	return nil
}

// Steps implements rules.Operation.
func (Delete) Steps() rules.Steps { return rules.Steps{First: deletion} }

// deletion takes a last backup, stops the members, and drops what is asked to
// be dropped; the record of the cluster goes last, so that a killed deletion
// can be continued.
func deletion(p rules.Situation) *ops.Decision {
	if p.S.Formed() && !p.S.Waives("backup") {
		if d := backups.First(p, true, false); d != nil {
			return d
		}
	}
	if names := p.Running(); len(names) > 0 {
		if d := p.Lingering(names); d != nil {
			return d
		}
		return rules.Do(ops.Step{ID: "stop-members", Action: ops.ActionStop, Members: names, Risk: ops.RiskDowntime,
			Deadline: rules.WaitDeadline,
			Title:    "Stop " + strings.Join(names, ", "), Touches: ops.StatefulSets(names)})
	}
	if volumes := dropped(p); len(volumes) > 0 {
		step := ops.Step{ID: "delete-volumes", Action: ops.ActionDeleteVolume, Members: volumes, Risk: ops.RiskIrreversible,
			Deadline: rules.WaitDeadline,
			Title:    "Drop the volumes of " + strings.Join(volumes, ", "), Touches: rules.Claims(volumes)}
		if len(p.S.Operation.Spec.Unused) > 0 {
			step.Risk, step.Reason = ops.RiskNone, "no member ever ran, so they hold nothing"
		}
		return rules.Do(step)
	}
	if p.S.Fact(v1alpha1.FactObjectsDeleted) == "" {
		return rules.Do(ops.Step{ID: "delete-objects", Action: ops.ActionDeleteAll, Risk: ops.RiskIrreversible,
			Deadline: rules.StepDeadline,
			Title: "Delete the services, the disruption budget, and the secrets with passwords, certificates and their " +
				"authority"})
	}
	return rules.Do(ops.Step{ID: "delete-record", Action: ops.ActionForget, Risk: ops.RiskNone,
		Deadline: rules.StepDeadline,
		Title:    "Delete the record of the cluster", Touches: []string{"configmap/" + v1alpha1.Record(p.S.Cluster.Name)}})
}

// dropped are the members whose volumes the deletion in flight deletes.
func dropped(p rules.Situation) []string {
	o := p.S.Operation.Spec
	var out []string
	for _, m := range p.S.Kube.Members {
		if m.Volume.Exists && p.S.Ours(m) && (o.Purge || slices.Contains(o.Unused, m.Name)) {
			out = append(out, m.Name)
		}
	}
	return out
}
