package planner

import (
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// restoreInPlace ends the present epoch of a cluster: a safety backup, all
// members stopped, their volumes kept, a new founding written down. What
// follows is the founding of any restored cluster.
func (p Planner) restoreInPlace() *ops.Decision {
	if p.S.Verb() != v1alpha1.VerbRestore || !p.S.Operation.Spec.InPlace {
		return nil
	}
	if p.S.Cancelling() {
		return p.returnToEpoch()
	}
	if p.epochBegun() {
		return nil
	}
	if !p.S.Waives("backup") {
		if d := p.backupFirst(false, false); d != nil {
			return d
		}
	}
	if names := p.running(); len(names) > 0 {
		if d := p.lingering(names); d != nil {
			return d
		}
		return do(ops.Step{ID: "stop-members", Action: ops.ActionStop, Members: names, Risk: ops.RiskDowntime, Deadline: WaitDeadline,
			Title: "Stop " + strings.Join(names, ", ") + " and keep their volumes", Reason: "the restored cluster must be out of their reach",
			Touches: ops.StatefulSets(names)})
	}
	return p.beginEpoch()
}

// beginEpoch ends the present epoch, of which nothing runs any more.
func (p Planner) beginEpoch() *ops.Decision {
	return do(ops.Step{ID: "begin-epoch", Action: ops.ActionNewEpoch, Risk: ops.RiskIrreversible, Deadline: StepDeadline,
		Title: "Begin anew from backup " + ops.EpochSource(p.S.Operation).Backup, Reason: "the old volumes stay, under their old names"})
}

// epochBegun reports whether the founding in force is the one that the
// operation in flight wrote.
func (p Planner) epochBegun() bool {
	return p.S.Operation != nil && p.S.Formation().Token == ops.EpochToken(p.S.Operation)
}

// running lists the members of this epoch that have a workload or a pod.
func (p Planner) running() []string {
	var out []string
	for _, m := range p.S.Kube.Members {
		if m.Workload.Exists || m.Pod.Exists {
			out = append(out, m.Name)
		}
	}
	return out
}
