package v1alpha1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Operation is the record of one request. It is written before the first
// effect, so a killed process leaves something to continue; it carries only
// what cannot be observed, and a journal for people. It lives in a ConfigMap,
// also beside an operator: no API serves it.
//
// +kubebuilder:object:root=true
// +kubebuilder:skipversion
type Operation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   OperationSpec   `json:"spec"`
	Status OperationStatus `json:"status,omitempty"`
}

// OperationSpec is the request. It never changes after it was written.
type OperationSpec struct {
	Cluster string `json:"cluster"`
	Verb    Verb   `json:"verb"`
	// Member is the chosen member of remove-member, replace-member and switchover,
	// and that whose data a person chose for a recovery.
	Member string `json:"member,omitempty"`
	// MemberID is the identity, in the database, of the member to replace: its
	// successor bears the same name.
	MemberID string `json:"memberID,omitempty"`
	// Leader led when a switchover was asked for.
	Leader string `json:"leader,omitempty"`
	// MinGain is how many bytes must be to gain before a member is
	// defragmented; 0 leaves it to the engine.
	MinGain int64 `json:"minGain,omitempty"`
	// Compaction says how much history compact and alarms-clear drop.
	Compaction *Compaction `json:"compaction,omitempty"`
	// Quiet limits a repair to what restarts no member.
	Quiet bool `json:"quiet,omitempty"`
	// Pods are the UIDs, by member, of the pods that a restart or a repair renews.
	Pods map[string]string `json:"pods,omitempty"`
	// Change is what configure and resize were asked for. Settings is what that
	// makes of the whole, and FromSettings the whole before: where cancel goes back to.
	Change       *SettingsChange `json:"change,omitempty"`
	Settings     *Settings       `json:"settings,omitempty"`
	FromSettings *Settings       `json:"fromSettings,omitempty"`
	// Rotation says what of the certificates is renewed, and how far.
	Rotation Rotation `json:"rotation,omitempty"`
	// Certificates are the fingerprints, by secret, of those that a rotation
	// renews; Authority that of the authority which signed when it was asked for.
	Certificates map[string]string `json:"certificates,omitempty"`
	Authority    string            `json:"authority,omitempty"`
	// Members and Version are the wanted values of scale, add-member,
	// remove-member, upgrade and downgrade, for the plan's sake and for history; the
	// cluster's spec holds them too.
	Members int32  `json:"members,omitempty"`
	Version string `json:"version,omitempty"`
	// FromMembers and FromVersion are what was wanted before: where cancel goes back to.
	FromMembers int32  `json:"fromMembers,omitempty"`
	FromVersion string `json:"fromVersion,omitempty"`
	// Image and FromImage are the wanted image of an upgrade or downgrade, where the cluster
	// does not take the catalog's, and the one before; of backup-schedule the image
	// of this tool that is to take backups, where that matters to who asks.
	Image     string `json:"image,omitempty"`
	FromImage string `json:"fromImage,omitempty"`
	// FromStopped and FromAuth are whether the cluster was wanted stopped, and
	// clients wanted to log in, before; nil in records of tools that did not write it down.
	FromStopped *bool `json:"fromStopped,omitempty"`
	FromAuth    *bool `json:"fromAuth,omitempty"`
	// FromUser is whether User was listed in the cluster before.
	FromUser bool `json:"fromUser,omitempty"`
	// Undoes names the record of the operation that this one takes back.
	Undoes string `json:"undoes,omitempty"`
	// Repository and Backup name the backup that is made, checked or loaded.
	// The identifier is chosen here, before the first byte is written.
	Repository string `json:"repository,omitempty"`
	Backup     string `json:"backup,omitempty"`
	// Source is the repository and identifier that an in-place restore, or a
	// recovery from a backup, loads; Repository and Backup are then the safety backup.
	// That of an upgrade which converts the data is made by itself, once all members have stopped.
	Source *BackupSource `json:"source,omitempty"`
	// Verify restores the backup into a throw-away member and compares.
	Verify bool `json:"verify,omitempty"`
	// VerifyEvery has the backup of a schedule verified if none was for so long.
	VerifyEvery VerifyEvery `json:"verifyEvery,omitempty"`
	// Scheduled marks the backup as one that a schedule's retention may delete,
	// and Retention says which of these stay. Its days begin in TimeZone.
	Scheduled bool `json:"scheduled,omitempty"`
	Retention `json:",inline"`
	TimeZone  string `json:"timeZone,omitempty"`
	// Object is the UID of the DatabaseBackup that asks for this; "" for none.
	Object string `json:"object,omitempty"`
	// Policy is what backup-schedule was asked for, FromPolicy what was before.
	Policy     *BackupPolicy `json:"policy,omitempty"`
	FromPolicy *BackupPolicy `json:"fromPolicy,omitempty"`
	// Waive lists the safety checks, by name, that the person gave up.
	Waive []string `json:"waive,omitempty"`
	// User is who user-create, user-delete and credentials-rotate are about; for
	// the latter nil is everybody.
	User *DatabaseUser `json:"user,omitempty"`
	// DropOld ends what a rotation left valid.
	DropOld bool `json:"dropOld,omitempty"`
	// Purge drops the volumes on delete; on create those that an earlier
	// cluster of the same name left.
	Purge bool `json:"purge,omitempty"`
	// Unused are the members whose volumes a delete drops because none ever ran:
	// they hold nothing.
	Unused []string `json:"unused,omitempty"`
	// FromIncarnation is what is replaced in place: where cancel goes back to.
	FromIncarnation *Incarnation `json:"fromIncarnation,omitempty"`
	// InPlace: other data takes the place of the cluster's: that which a restore loads, or, of an upgrade, its own, of
	// which a backup is converted.
	InPlace bool `json:"inPlace,omitempty"`
	// KeepRevision, see RestoreSource.
	KeepRevision bool `json:"keepRevision,omitempty"`
	// Method of a recovery.
	Method RecoveryMethod `json:"method,omitempty"`
	// Dead are the members of which a person said that their node is dead for
	// good, so that their pods count as gone; Without those whose volumes a
	// recovery leaves out of account.
	Dead    []string `json:"dead,omitempty"`
	Without []string `json:"without,omitempty"`
	// Evidence is what a recovery was chosen by, one observation each.
	Evidence []string `json:"evidence,omitempty"`
	// RequestedBy is the user as Kubernetes names them, RequestedFrom the host.
	RequestedBy   string `json:"requestedBy,omitempty"`
	RequestedFrom string `json:"requestedFrom,omitempty"`
	// Command is the line that continues or repeats this operation.
	Command string `json:"command,omitempty"`
}

// Incarnation is what belongs to one life of a cluster's data.
type Incarnation struct {
	Bootstrap   Bootstrap      `json:"bootstrap"`
	RestoreFrom *RestoreSource `json:"restoreFrom,omitempty"`
	// Auth and Stopped are whether clients had to log in, and whether the cluster was wanted stopped.
	Auth    bool `json:"auth,omitempty"`
	Stopped bool `json:"stopped,omitempty"`
}

// Compaction is how much of the history of its data a database drops.
type Compaction struct {
	// Revision before which all history is asked to go; 0 leaves it to Keep.
	Revision int64 `json:"revision,omitempty"`
	// Keep is how many of the latest revisions stay.
	Keep int64 `json:"keep,omitempty"`
	// Before is the revision that this came to when it was asked for; 0 if there
	// was nothing to drop.
	Before int64 `json:"before,omitempty"`
}

// BackupSource names the backup to load.
type BackupSource struct {
	Repository string `json:"repository"`
	Backup     string `json:"backup"`
	// Version is that of the server that the backup is of, where a person named the backup.
	Version string `json:"version,omitempty"`
	// Auth is true if the backup carries users and demands credentials, RootSecret
	// see RestoreSource.
	Auth       bool   `json:"auth,omitempty"`
	RootSecret string `json:"rootSecret,omitempty"`
	// Target and FormerImage, see RestoreSource.
	Target      RecoveryTarget `json:"target,omitzero"`
	FormerImage string         `json:"formerImage,omitempty"`
}

// Active reports whether the operation still holds its cluster.
func (o *Operation) Active() bool {
	switch o.Status.Phase {
	case PhaseSucceeded, PhaseFailed, PhaseCancelled:
		return false
	default:
		return true
	}
}

// Waives reports whether the person gave up the named check.
func (o *Operation) Waives(check string) bool {
	return slices.Contains(o.Spec.Waive, check)
}
