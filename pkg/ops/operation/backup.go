package operation

import (
	"errors"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// Backup takes one backup, and deletes those that a schedule does not keep.
type Backup struct{ rules.Plain }

// Traits implements rules.Operation.
func (Backup) Traits() rules.Traits { return rules.Traits{SparesMembers: true} }

// Check implements rules.Operation.
func (Backup) Check(_ engine.Engine, o v1alpha1.OperationSpec, _, _ *v1alpha1.DatabaseCluster) error {
	return checkAsked(o)
}

// Steps implements rules.Operation. The rights of a scheduled backup reach no further than the backup.
func (Backup) Steps() rules.Steps {
	return rules.Steps{Running: backup, Alone: func(p rules.Situation) *ops.Decision {
		if !p.S.Operation.Spec.Scheduled || !p.S.Formed() || p.S.Cluster.Spec.Stopped {
			return nil
		}
		if d := backup(p); d != nil {
			return d
		}
		return &ops.Decision{Done: true}
	}}
}

// checkAsked judges what an object asks for: an operator has no directory.
func checkAsked(o v1alpha1.OperationSpec) error {
	if o.Object == "" {
		return nil
	}
	spec := v1alpha1.DatabaseClusterSpec{Backup: v1alpha1.BackupPolicy{Repository: o.Repository}}
	err := rules.Keep(&v1alpha1.OperationSpec{Cluster: o.Cluster, Verb: o.Verb}, spec)
	if r, ok := errors.AsType[*engine.Refusal](err); ok {
		r.Hint = `set spec.backup.repository of the cluster to "pvc:CLAIM"; or delete this object, and make another one with spec.repository`
		if o.Repository == "" {
			r.Reason = fmt.Sprintf("neither this object nor databasecluster %s names a repository", o.Cluster)
		}
	}
	return err
}

// backup serves the verb of that name. Stepping back from it is to leave off:
// half a backup is none.
func backup(p rules.Situation) *ops.Decision {
	if p.S.Cancelling() {
		return &ops.Decision{Done: true}
	}
	if d := p.BackupFirst(false, p.S.Operation.Spec.Verify); d != nil {
		return d
	}
	return retention(p)
}

// retention deletes what a schedule does not keep, once there is a newer one.
func retention(p rules.Situation) *ops.Decision {
	o := p.S.Operation.Spec
	if !o.Scheduled || o.Keep < 1 || p.S.Fact(v1alpha1.FactPruned) != "" {
		return nil
	}
	return rules.Do(ops.Step{ID: "prune-backups", Action: ops.ActionPrune, Risk: ops.RiskIrreversible,
		Deadline: rules.StreamDeadline,
		Title: fmt.Sprintf("Keep the newest %d scheduled backups in %s, and the newest verified one", o.Keep,
			o.Repository)})
}
