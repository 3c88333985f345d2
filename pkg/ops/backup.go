package ops

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// backupStepPrefix and the backup's identifier are the ID of the step that takes it.
const backupStepPrefix = "backup/"

// backup serves the verb of that name. Stepping back from it is to leave off:
// half a backup is none.
func (p planner) backup() *Decision {
	if p.s.verb() != v1alpha1.VerbBackup {
		return nil
	}
	if p.s.cancelling() {
		return &Decision{Done: true}
	}
	if d := p.backupFirst(false, p.s.Operation.Spec.Verify); d != nil {
		return d
	}
	return p.retention()
}

// retention deletes what a schedule does not keep, once there is a newer one.
func (p planner) retention() *Decision {
	o := p.s.Operation.Spec
	if !o.Scheduled || o.Keep < 1 || p.s.fact(v1alpha1.FactPruned) != "" {
		return nil
	}
	return do(Step{ID: "prune-backups", Action: ActionPrune, Risk: RiskIrreversible, Deadline: streamDeadline,
		Title: fmt.Sprintf("Keep the newest %d scheduled backups in %s, and the newest verified one", o.Keep, o.Repository)})
}

// backupFirst makes, and if asked verifies, the backup of the operation in
// flight. Its identifier was chosen before, so a repeat overwrites only its own.
func (p planner) backupFirst(leader, verify bool) *Decision {
	op := p.s.Operation
	if p.s.fact(v1alpha1.FactBackup) == "" {
		source := p.e.Source(p.s.View, leader)
		if source == "" {
			return block(&Error{Kind: Refused, Check: "backup",
				Message: "no member of " + p.s.Cluster.Name + " is fit to take a backup from",
				Hint:    "kubectl dbop status " + p.s.Cluster.Name + " shows why; --skip-backup goes on without one, where that is wanted"})
		}
		return do(Step{ID: backupStepPrefix + op.Spec.Backup, Action: ActionBackup, Members: []string{source}, Risk: RiskNone, Deadline: streamDeadline,
			Title: fmt.Sprintf("Back up %s to %s", source, op.Spec.Repository), Touches: []string{"backup/" + op.Spec.Backup}})
	}
	if verify && p.s.fact(v1alpha1.FactVerified) == "" {
		return do(Step{ID: "verify-backup/" + op.Spec.Backup, Action: ActionVerify, Risk: RiskNone, Deadline: streamDeadline,
			Title: "Restore the backup into a throw-away member and compare", Reason: "a backup counts once it was restored",
			Touches: []string{"backup/" + op.Spec.Backup}})
	}
	return nil
}
