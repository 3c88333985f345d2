package ops

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// EpochOf is what a cluster is before another epoch begins.
func EpochOf(c *v1alpha1.DatabaseCluster) *v1alpha1.Epoch {
	if c.Status.Formation == nil {
		return nil
	}
	return &v1alpha1.Epoch{Formation: *c.Status.Formation.DeepCopy(), RestoreFrom: c.Spec.RestoreFrom.DeepCopy(), Auth: c.Spec.Auth.Enabled, Stopped: c.Spec.Stopped}
}

// ReturnToEpoch makes the cluster what it was before the operation began
// another epoch. A repeat changes nothing.
func ReturnToEpoch(c *v1alpha1.DatabaseCluster, op *v1alpha1.Operation) {
	from := op.Spec.FromEpoch.DeepCopy()
	c.Spec.RestoreFrom, c.Spec.Auth.Enabled, c.Spec.Stopped = from.RestoreFrom, from.Auth, from.Stopped
	c.Status.Formation = &from.Formation
}

// BeginEpoch writes the founding of an in-place restore or a recovery into the
// cluster: one founder, under a name that no kept volume bears.
func BeginEpoch(c *v1alpha1.DatabaseCluster, op *v1alpha1.Operation, founder string) {
	from := EpochSource(op)
	c.Spec.RestoreFrom = &v1alpha1.RestoreSource{Repository: from.Repository, Backup: from.Backup, KeepRevision: op.Spec.KeepRevision, RootSecret: from.RootSecret}
	// Nobody is let in without a password who was not before.
	c.Spec.Auth.Enabled = c.Spec.Auth.Enabled || from.Auth
	c.Spec.Stopped = false
	c.Status.Formation = &v1alpha1.Formation{Token: EpochToken(op), Members: []string{founder}, Epoch: c.Status.Formation.Epoch + 1}
}

// The steps whose name tells how far a recovery came.
const (
	StepFence   = "fence-members"
	StepSalvage = "salvage-data"
	StepEpoch   = "begin-epoch"
)

// EpochSource is what a new epoch begins from.
func EpochSource(op *v1alpha1.Operation) v1alpha1.BackupSource {
	if op.Spec.Source != nil {
		return *op.Spec.Source
	}
	return v1alpha1.BackupSource{Repository: op.Spec.Repository, Backup: op.Spec.Backup}
}

// EpochToken is the formation token of the epoch that an in-place restore
// begins: derived from the record, so that a repeat writes the same.
func EpochToken(op *v1alpha1.Operation) string { return "epoch-" + op.Name }
