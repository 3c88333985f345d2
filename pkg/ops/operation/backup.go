package operation

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/backups"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// Backup takes one backup, and deletes those that a schedule does not keep.
type Backup struct{ rules.Plain }

// Traits implements rules.Operation.
func (Backup) Traits() rules.Traits { return rules.Traits{SparesMembers: true, OnlyReads: true} }

// Manners implements rules.Operation.
func (Backup) Manners() ops.Manners {
	return ops.Manners{
		Alongside: true,
		StepsBack: ops.Anytime,
		// The next run of the schedule takes another, where this one was taken and could not be verified, or could not
		// delete older ones.
		Yields: func(op *v1alpha1.Operation) bool {
			return op.Spec.Scheduled && op.Status.Facts[v1alpha1.FactBackup] != ""
		},
		Same: func(have, asked v1alpha1.OperationSpec) bool {
			// What a schedule takes may hold what changed alone, which is not what a person asks for.
			return have.Repository == asked.Repository && have.Incremental == asked.Incremental &&
				(have.FullEvery == "" || asked.Scheduled) && (have.Object == asked.Object || asked.Object == "")
		},
	}
}

// Check implements rules.Operation.
func (Backup) Check(_ engine.Engine, o v1alpha1.OperationSpec, _, _ *v1alpha1.DatabaseCluster) error {
	if _, err := backups.RetentionOf(o.Retention, o.TimeZone); err != nil {
		return &engine.Refusal{Check: "retention", Reason: err.Error(), Hint: "correct what is to be kept"}
	}
	return checkAsked(o)
}

// Resolve implements rules.Operation: whether this backup of a schedule is one to verify is decided once, and so is the
// full backup that one adds to.
func (Backup) Resolve(e engine.Engine, o *v1alpha1.OperationSpec, s ops.State) error {
	if o.Incremental || o.FullEvery != "" {
		base, err := backups.Base(e, s, o.Repository)
		if err != nil && o.Incremental {
			return err
		}
		newest, known := repository.TimeOf(base.Backup)
		if o.Incremental || known && !health.FullDue(o.FullEvery, o.TimeZone, newest, s.Now) {
			o.Parent = base.Backup
		}
	}
	if health.VerificationDue(o.VerifyEvery, o.Repository, o.TimeZone, s.Cluster.Status.LastVerifiedBackup, s.Now) {
		o.Verify = true
	}
	return nil
}

// Steps implements rules.Operation. Nothing else is mended on the way: another operation may be changing it, and the
// rights of a scheduled backup reach no further.
func (Backup) Steps() rules.Steps {
	return rules.Steps{Alone: func(p rules.Situation) *ops.Decision {
		switch taken := p.S.Fact(v1alpha1.FactBackup) != ""; {
		case taken, p.S.Cancelling():
		case !p.S.Formed():
			return p.Await("formed", "the cluster has not formed")
		case p.S.Cluster.Spec.Stopped:
			return rules.Stopped(p.S.Cluster)
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
	err := backups.Keep(&v1alpha1.OperationSpec{Cluster: o.Cluster, Verb: o.Verb}, spec)
	if refused, ok := ops.AsError(err); ok {
		refused.Hint = `set spec.backup.repository of the cluster to "pvc:CLAIM" or the name of a repository; or delete this object, and make another one with spec.repository`
		if o.Repository == "" {
			refused.Message = fmt.Sprintf("neither this object nor databasecluster %s names a repository", o.Cluster)
		}
		return refused
	}
	return err
}

// backup serves the verb of that name. Stepping back from it is to leave off:
// half a backup is none.
func backup(p rules.Situation) *ops.Decision {
	if p.S.Cancelling() {
		return &ops.Decision{Done: true}
	}
	if d := backups.First(p, false, p.S.Operation.Spec.Verify); d != nil {
		return d
	}
	return retention(p)
}

// retention deletes what a schedule does not keep, once there is a newer one.
func retention(p rules.Situation) *ops.Decision {
	o := p.S.Operation.Spec
	if !o.Scheduled || o.KeepsAll() || p.S.Fact(v1alpha1.FactPruned) != "" {
		return nil
	}
	return rules.Do(ops.Step{ID: "prune-backups", Action: ops.ActionPrune, Risk: ops.RiskIrreversible,
		Deadline: rules.LongDeadline,
		Title: fmt.Sprintf("Keep %s of the scheduled backups in %s, and the newest verified one", o.Kept(),
			o.Repository)})
}
