package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ReplaceParameters are those of replace-member.
type ReplaceParameters struct {
	// MemberID is the identity, in the database, of the member to replace: its
	// successor bears the same name.
	MemberID string `json:"memberID,omitempty"`
}

// SwitchoverParameters are those of switchover.
type SwitchoverParameters struct {
	// Leader led when a switchover was asked for.
	Leader string `json:"leader,omitempty"`
}

// HoldParameters are those of hold.
type HoldParameters struct {
	// HoldFor is how long no other member may lead; 0 is until somebody ends it.
	HoldFor metav1.Duration `json:"holdFor,omitzero"`
	// HoldWhy is the reason that a person gave.
	HoldWhy string `json:"holdWhy,omitempty"`
	// HoldEnd ends a hold. FromHold is whether one was in force before.
	HoldEnd  bool `json:"holdEnd,omitempty"`
	FromHold bool `json:"fromHold,omitempty"`
}

// CutoverParameters are those of cutover.
type CutoverParameters struct {
	// WayBack prepares that the source follows this cluster from the cut over on, see FollowParameters.
	WayBack bool `json:"wayBack,omitempty"`
	// Finish gives up that way back after a cut over.
	Finish bool `json:"finish,omitempty"`
}

// FollowParameters are those of follow.
type FollowParameters struct {
	// Follow is the cluster of the namespace that took the place of this one.
	Follow string `json:"follow,omitempty"`
}

// SpaceParameters are those of defrag, compact and alarms-clear.
type SpaceParameters struct {
	// MinGain is how many bytes must be to gain before a member is
	// defragmented; 0 leaves it to the engine.
	MinGain int64 `json:"minGain,omitempty"`
	// Compaction says how much history compact and alarms-clear drop.
	Compaction *Compaction `json:"compaction,omitempty"`
}

// RestartParameters are those of restart and repair.
type RestartParameters struct {
	// Quiet limits a repair to what restarts no member.
	Quiet bool `json:"quiet,omitempty"`
	// Pods are the UIDs, by member, of the pods that a restart or a repair renews.
	Pods map[string]string `json:"pods,omitempty"`
}

// SettingsParameters are those of configure and resize.
type SettingsParameters struct {
	// Change is what was asked for. Settings is what that makes of the whole, and
	// FromSettings the whole before: where cancel goes back to.
	Change       *SettingsChange `json:"change,omitempty"`
	Settings     *Settings       `json:"settings,omitempty"`
	FromSettings *Settings       `json:"fromSettings,omitempty"`
}

// CertificateParameters are those of rotate-certificates and rotate-authority.
type CertificateParameters struct {
	// Rotation says what of the certificates is renewed, and how far.
	Rotation Rotation `json:"rotation,omitempty"`
	// Certificates are the fingerprints, by secret, of those that a rotation
	// renews; Authority that of the authority which signed when it was asked for.
	Certificates map[string]string `json:"certificates,omitempty"`
	Authority    string            `json:"authority,omitempty"`
}

// SizeParameters are those of scale, add-member and remove-member.
type SizeParameters struct {
	// Members is the wanted number, for the plan's sake and for history; the cluster's
	// spec holds it too. FromMembers is what was wanted before: where cancel goes back to.
	Members     int32 `json:"members,omitempty"`
	FromMembers int32 `json:"fromMembers,omitempty"`
}

// VersionParameters are those of upgrade and downgrade.
type VersionParameters struct {
	// Version is the wanted one, for the plan's sake and for history; the cluster's
	// spec holds it too. FromVersion is what was wanted before: where cancel goes back to.
	Version     string `json:"version,omitempty"`
	FromVersion string `json:"fromVersion,omitempty"`
	// Image and FromImage are the wanted image, where the cluster does not take the
	// catalog's, and the one before; of backup-schedule the image of this tool that is
	// to take backups, where that matters to who asks.
	Image     string `json:"image,omitempty"`
	FromImage string `json:"fromImage,omitempty"`
}

// UserParameters are those of user-create, user-delete and credentials-rotate.
type UserParameters struct {
	// User is who the operation is about; of credentials-rotate nil is everybody.
	User *DatabaseUser `json:"user,omitempty"`
	// FromUser is whether User was listed in the cluster before.
	FromUser bool `json:"fromUser,omitempty"`
	// DropOld ends what a rotation left valid.
	DropOld bool `json:"dropOld,omitempty"`
}

// BackupParameters are those of backup.
type BackupParameters struct {
	// Object is the UID of the DatabaseBackup that asks for this; "" for none.
	Object string `json:"object,omitempty"`
	// Incremental: only what changed since a full backup is taken. Parent is that backup, chosen when this was asked for.
	Incremental bool   `json:"incremental,omitempty"`
	Parent      string `json:"parent,omitempty"`
	// Verify restores the backup into a throw-away member and compares.
	Verify bool `json:"verify,omitempty"`
	// VerifyEvery has the backup of a schedule verified if none was for so long.
	VerifyEvery Interval `json:"verifyEvery,omitempty"`
	// FullEvery has the backup of a schedule hold what changed since Parent, unless the newest full one is of another such
	// interval, or members can't tell any more what changed since it. "" is a full one.
	FullEvery Interval `json:"fullEvery,omitempty"`
	// Scheduled marks the backup as one that a schedule's retention may delete,
	// and Retention says which of these stay. Its days begin in TimeZone.
	Scheduled bool `json:"scheduled,omitempty"`
	Retention `json:",inline"`
	TimeZone  string `json:"timeZone,omitempty"`
}

// ScheduleParameters are those of backup-schedule.
type ScheduleParameters struct {
	// Policy is what was asked for, FromPolicy what was before.
	Policy     *BackupPolicy `json:"policy,omitempty"`
	FromPolicy *BackupPolicy `json:"fromPolicy,omitempty"`
}

// RestoreParameters are those of restore, and of what else replaces the data of a cluster.
type RestoreParameters struct {
	// InPlace: other data takes the place of the cluster's: that which a restore loads, or, of an upgrade, its own, of
	// which a backup is converted.
	InPlace bool `json:"inPlace,omitempty"`
	// KeepRevision, see RestoreSource.
	KeepRevision bool `json:"keepRevision,omitempty"`
	// FromIncarnation is what is replaced in place: where cancel goes back to.
	FromIncarnation *Incarnation `json:"fromIncarnation,omitempty"`
	// ToIncarnation is set for a restore that takes another one back: the incarnation that the other one replaced, on
	// whose volumes the cluster goes on.
	ToIncarnation *Incarnation `json:"toIncarnation,omitempty"`
}

// RecoverParameters are those of recover.
type RecoverParameters struct {
	// Method of the recovery.
	Method RecoveryMethod `json:"method,omitempty"`
	// Dead are the members of which a person said that their node is dead for
	// good, so that their pods count as gone; Without those whose volumes a
	// recovery leaves out of account.
	Dead    []string `json:"dead,omitempty"`
	Without []string `json:"without,omitempty"`
	// Evidence is what a recovery was chosen by, one observation each.
	Evidence []string `json:"evidence,omitempty"`
}

// DeleteParameters are those of delete.
type DeleteParameters struct {
	// Purge drops the volumes; on create those that an earlier cluster of the same name left.
	Purge bool `json:"purge,omitempty"`
	// Unused are the members whose volumes a delete drops because none ever ran:
	// they hold nothing.
	Unused []string `json:"unused,omitempty"`
}
