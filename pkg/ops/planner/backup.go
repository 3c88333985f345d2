package planner

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// backup serves the verb of that name. Stepping back from it is to leave off:
// half a backup is none.
func (p Planner) backup() *ops.Decision {
	if p.S.Verb() != v1alpha1.VerbBackup {
		return nil
	}
	if p.S.Cancelling() {
		return &ops.Decision{Done: true}
	}
	if d := p.backupFirst(false, p.S.Operation.Spec.Verify); d != nil {
		return d
	}
	return p.retention()
}

// retention deletes what a schedule does not keep, once there is a newer one.
func (p Planner) retention() *ops.Decision {
	o := p.S.Operation.Spec
	if !o.Scheduled || o.Keep < 1 || p.S.Fact(v1alpha1.FactPruned) != "" {
		return nil
	}
	return do(ops.Step{ID: "prune-backups", Action: ops.ActionPrune, Risk: ops.RiskIrreversible, Deadline: StreamDeadline,
		Title: fmt.Sprintf("Keep the newest %d scheduled backups in %s, and the newest verified one", o.Keep, o.Repository)})
}

// backupFirst makes, and if asked verifies, the backup of the operation in
// flight. Its identifier was chosen before, so a repeat overwrites only its own.
func (p Planner) backupFirst(leader, verify bool) *ops.Decision {
	op := p.S.Operation
	if p.S.Fact(v1alpha1.FactBackup) == "" {
		source := p.E.Source(p.S.View, leader)
		if source == "" {
			return block(&ops.Error{Kind: ops.Refused, Check: "backup",
				Message: "no member of " + p.S.Cluster.Name + " is fit to take a backup from",
				Hint:    "kubectl dbop status " + p.S.Cluster.Name + " shows why; --skip-backup goes on without one, where that is wanted"})
		}
		return do(ops.Step{ID: ops.BackupStepPrefix + op.Spec.Backup, Action: ops.ActionBackup, Members: []string{source}, Risk: ops.RiskNone, Deadline: StreamDeadline,
			Title: fmt.Sprintf("Back up %s to %s", source, op.Spec.Repository), Touches: []string{"backup/" + op.Spec.Backup}})
	}
	if verify && p.S.Fact(v1alpha1.FactVerified) == "" {
		return do(ops.Step{ID: "verify-backup/" + op.Spec.Backup, Action: ops.ActionVerify, Risk: ops.RiskNone, Deadline: StreamDeadline,
			Title: "Restore the backup into a throw-away member and compare", Reason: "backups are verified by a test restore",
			Touches: []string{"backup/" + op.Spec.Backup}})
	}
	return nil
}
