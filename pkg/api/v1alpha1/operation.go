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

// OperationSpec is the request. It never changes after it was written. What one
// verb or family of verbs takes has a type of its own.
type OperationSpec struct {
	Cluster string `json:"cluster"`
	Verb    Verb   `json:"verb"`
	// Member is the chosen member of remove-member, replace-member and switchover,
	// and that whose data a person chose for a recovery.
	Member string `json:"member,omitempty"`

	ReplaceParameters     `json:",inline"`
	SwitchoverParameters  `json:",inline"`
	HoldParameters        `json:",inline"`
	CutoverParameters     `json:",inline"`
	FollowParameters      `json:",inline"`
	SpaceParameters       `json:",inline"`
	RestartParameters     `json:",inline"`
	SettingsParameters    `json:",inline"`
	CertificateParameters `json:",inline"`
	SizeParameters        `json:",inline"`
	VersionParameters     `json:",inline"`
	UserParameters        `json:",inline"`
	BackupParameters      `json:",inline"`
	ScheduleParameters    `json:",inline"`
	RestoreParameters     `json:",inline"`
	RecoverParameters     `json:",inline"`
	DeleteParameters      `json:",inline"`

	// Repository and Backup name the backup that is made, checked or loaded.
	// The identifier is chosen here, before the first byte is written.
	Repository string `json:"repository,omitempty"`
	Backup     string `json:"backup,omitempty"`
	// Source is the repository and identifier that an in-place restore, or a
	// recovery from a backup, loads; Repository and Backup are then the safety backup.
	// That of an upgrade which converts the data is made by itself, once all members have stopped.
	Source *BackupSource `json:"source,omitempty"`
	// FromStopped and FromAuth are whether the cluster was wanted stopped, and
	// clients wanted to log in, before; nil in records of tools that did not write it down.
	FromStopped *bool `json:"fromStopped,omitempty"`
	FromAuth    *bool `json:"fromAuth,omitempty"`
	// Undoes names the record of the operation that this one takes back.
	Undoes string `json:"undoes,omitempty"`
	// Waive lists the safety checks, by name, that the person gave up.
	Waive []string `json:"waive,omitempty"`
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
	// Backup is the safety backup that was taken before it ended; nil if there was none, or it has not ended.
	Backup *BackupSource `json:"backup,omitempty"`
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
	// Bytes is how much data the backup holds, Seconds how long it took to take; 0 where that is not known.
	Bytes   int64 `json:"bytes,omitempty"`
	Seconds int64 `json:"seconds,omitempty"`
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
