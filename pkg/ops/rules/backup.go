package rules

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// BackupFirst makes, and if asked verifies, the backup of the operation in
// flight. Its identifier was chosen before, so a repeat overwrites only its own.
func (p Situation) BackupFirst(leader, verify bool) *ops.Decision {
	op := p.S.Operation
	if p.S.Fact(v1alpha1.FactBackup) == "" {
		source := p.E.Source(p.S.View, leader)
		if source == "" {
			return Block(&ops.Error{Kind: ops.Refused, Check: "backup",
				Message: "no member of " + p.S.Cluster.Name + " is fit to take a backup from",
				Hint: "kubectl dbop status " + p.S.Cluster.Name +
					" shows why; --skip-backup goes on without one, where that is wanted"})
		}
		return Do(ops.Step{ID: ops.BackupStepPrefix + op.Spec.Backup, Action: ops.ActionBackup, Members: []string{source},
			Risk: ops.RiskNone, Deadline: StreamDeadline,
			Title: fmt.Sprintf("Back up %s to %s", source, op.Spec.Repository), Touches: []string{"backup/" + op.Spec.Backup}})
	}
	if verify && p.S.Fact(v1alpha1.FactVerified) == "" {
		return Do(ops.Step{ID: "verify-backup/" + op.Spec.Backup, Action: ops.ActionVerify, Risk: ops.RiskNone,
			Deadline: StreamDeadline,
			Title:    "Restore the backup into a throw-away member and compare",
			Reason:   "backups are verified by a test restore",
			Touches:  []string{"backup/" + op.Spec.Backup}})
	}
	return nil
}
