package ops

import (
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// IncarnationOf is what a cluster is before another incarnation begins.
func IncarnationOf(c *v1alpha1.DatabaseCluster) *v1alpha1.Incarnation {
	if c.Status.Bootstrap == nil {
		return nil
	}
	return &v1alpha1.Incarnation{Bootstrap: *c.Status.Bootstrap.DeepCopy(), RestoreFrom: c.Spec.RestoreFrom.DeepCopy(),
		Auth: c.Spec.Auth.Enabled, Stopped: c.Spec.Stopped}
}

// ReturnsTo is the incarnation that the operation goes back to: the one that it replaced, if it is being stepped back,
// or the one that another operation replaced, if it takes that back; nil if the record says neither.
func ReturnsTo(op *v1alpha1.Operation) *v1alpha1.Incarnation {
	if TakesRestoreBack(op) && op.Status.Phase != v1alpha1.PhaseCancelling {
		return op.Spec.ToIncarnation
	}
	return op.Spec.FromIncarnation
}

// TakesRestoreBack reports whether an operation takes back a restore in place that came to its end.
func TakesRestoreBack(op *v1alpha1.Operation) bool { return op != nil && op.Spec.ToIncarnation != nil }

// ReturnToIncarnation makes the cluster what it was before another incarnation began, see ReturnsTo. Who takes a
// restore back knows of no backup afterwards: the newest ones may be of the data that is left. A repeat changes
// nothing.
func ReturnToIncarnation(c *v1alpha1.DatabaseCluster, op *v1alpha1.Operation) {
	from, now := ReturnsTo(op).DeepCopy(), c.Status.Bootstrap
	c.Spec.RestoreFrom, c.Spec.Auth.Enabled, c.Spec.Stopped = from.RestoreFrom, from.Auth, from.Stopped
	switch {
	case TakesRestoreBack(op) && now.Token == from.Bootstrap.Token:
	case TakesRestoreBack(op):
		// The volumes that are left keep a copy of the record, too, which must not pass for the newest one.
		from.Bootstrap.Incarnation = now.Incarnation + 1
		c.Status.Bootstrap = &from.Bootstrap
		// They may be of the data that is left; the repository has those of this.
		c.Status.LastBackup, c.Status.LastVerifiedBackup, c.Status.LastProof = nil, nil, nil
	default:
		c.Status.Bootstrap = &from.Bootstrap
	}
	if Converts(op) {
		c.Spec.Version, c.Spec.Image = op.Spec.FromVersion, op.Spec.FromImage
	}
}

// BeginIncarnation writes the founding of an in-place restore or a recovery into the
// cluster: one initial member, under a name that no kept volume bears. An upgrade
// that converts the data begins it with the new version. It begins with a former member, on its volume, if it links:
// then former is the name of that.
func BeginIncarnation(c *v1alpha1.DatabaseCluster, op *v1alpha1.Operation, free, former string) {
	token, stage := IncarnationToken(op, free), v1alpha1.InPlace("")
	from := IncarnationSource(op)
	c.Spec.RestoreFrom = &v1alpha1.RestoreSource{Repository: from.Repository, Backup: from.Backup,
		KeepRevision: op.Spec.KeepRevision, RootSecret: from.RootSecret, Target: from.Target,
		FormerImage: from.FormerImage}
	// Nobody is let in without a password who was not before.
	c.Spec.Auth.Enabled = c.Spec.Auth.Enabled || from.Auth
	c.Spec.Stopped = false
	if Converts(op) {
		c.Spec.Version, c.Spec.Image = op.Spec.Version, op.Spec.Image
	}
	initial := free
	if former != "" {
		c.Spec.RestoreFrom, initial, stage = nil, former, v1alpha1.InPlaceAsked
	}
	c.Status.Bootstrap = &v1alpha1.Bootstrap{Token: token, Members: []string{initial}, InPlace: stage,
		Incarnation: c.Status.Bootstrap.Incarnation + 1}
}

// The steps whose name tells how far a recovery came.
const (
	StepFence       = "fence-members"
	StepRecoverData = "recover-data"
	StepIncarnation = "begin-incarnation"
)

// Converts reports whether an operation is an upgrade that converts the data of the cluster: members of the former
// version can't run on it, so the cluster wants the new version from the new incarnation on, and no earlier.
func Converts(op *v1alpha1.Operation) bool {
	return op != nil && op.Spec.Verb == v1alpha1.VerbUpgrade && op.Spec.InPlace
}

// WaiverWayBack is the name of the check that a person gives up who has data converted on the volume of its member.
const WaiverWayBack = "way-back"

// Links reports whether an operation converts the data on the volume of a member, without a copy.
func Links(op *v1alpha1.Operation) bool { return Converts(op) && op.Waives(WaiverWayBack) }

// StoppedBackup is the identifier of the backup that an operation makes of the data of stopped members, and the fact
// that says that it is whole.
func StoppedBackup(op *v1alpha1.Operation) (id, fact string) {
	if Converts(op) {
		return op.Spec.Source.Backup, v1alpha1.FactLastBackup
	}
	return op.Spec.Backup, v1alpha1.FactBackup
}

// IncarnationSource is what a new incarnation starts from.
func IncarnationSource(op *v1alpha1.Operation) v1alpha1.BackupSource {
	if op.Spec.Source != nil {
		return *op.Spec.Source
	}
	return v1alpha1.BackupSource{Repository: op.Spec.Repository, Backup: op.Spec.Backup}
}

// IncarnationToken is the token of the incarnation that an in-place restore
// begins with that initial member: derived from the record, so that a repeat writes the
// same. A restore that was stepped back and then gone on with begins under
// another name, and its token is another one: the volumes of the first try are
// not taken for its own.
func IncarnationToken(op *v1alpha1.Operation, initial string) string {
	return incarnationPrefix(op) + initial
}

// IncarnationStartedBy reports whether a token is that of an incarnation which the operation started.
func IncarnationStartedBy(op *v1alpha1.Operation, token string) bool {
	return strings.HasPrefix(token, incarnationPrefix(op))
}

func incarnationPrefix(op *v1alpha1.Operation) string { return "incarnation-" + op.Name + "-" }
