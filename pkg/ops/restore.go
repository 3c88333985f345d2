package ops

import (
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// restoreInPlace ends the present epoch of a cluster: a safety backup, all
// members stopped, their volumes kept, a new founding written down. What
// follows is the founding of any restored cluster.
func (p planner) restoreInPlace() *Decision {
	if p.s.verb() != v1alpha1.VerbRestore || !p.s.Operation.Spec.InPlace {
		return nil
	}
	if p.s.cancelling() {
		return p.returnToEpoch()
	}
	if p.epochBegun() {
		return nil
	}
	if !p.s.waives("backup") {
		if d := p.backupFirst(false, false); d != nil {
			return d
		}
	}
	if names := p.running(); len(names) > 0 {
		if d := p.lingering(names); d != nil {
			return d
		}
		return do(Step{ID: "stop-members", Action: ActionStop, Members: names, Risk: RiskDowntime, Deadline: waitDeadline,
			Title: "Stop " + strings.Join(names, ", ") + " and keep their volumes", Reason: "the restored cluster must be out of their reach",
			Touches: statefulSets(names)})
	}
	return p.beginEpoch()
}

// beginEpoch ends the present epoch, of which nothing runs any more.
func (p planner) beginEpoch() *Decision {
	return do(Step{ID: "begin-epoch", Action: ActionNewEpoch, Risk: RiskIrreversible, Deadline: stepDeadline,
		Title: "Begin anew from backup " + epochSource(p.s.Operation).Backup, Reason: "the old volumes stay, under their old names"})
}

// epochSource is what a new epoch begins from.
func epochSource(op *v1alpha1.Operation) v1alpha1.BackupSource {
	if op.Spec.Source != nil {
		return *op.Spec.Source
	}
	return v1alpha1.BackupSource{Repository: op.Spec.Repository, Backup: op.Spec.Backup}
}

// epochBegun reports whether the founding in force is the one that the
// operation in flight wrote.
func (p planner) epochBegun() bool {
	return p.s.Operation != nil && p.s.formation().Token == EpochToken(p.s.Operation)
}

// EpochToken is the formation token of the epoch that an in-place restore
// begins: derived from the record, so that a repeat writes the same.
func EpochToken(op *v1alpha1.Operation) string { return "epoch-" + op.Name }

// running lists the members of this epoch that have a workload or a pod.
func (p planner) running() []string {
	var out []string
	for _, m := range p.s.Kube.Members {
		if m.Workload.Exists || m.Pod.Exists {
			out = append(out, m.Name)
		}
	}
	return out
}

func statefulSets(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = "statefulset/" + n
	}
	return out
}
