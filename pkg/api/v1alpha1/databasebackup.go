package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DatabaseBackup asks an operator for one backup of a cluster, now. It is a
// request and its outcome: deleting it gives up what has not ended, and never
// deletes a backup.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=dbb,categories=dbop
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.cluster`
// +kubebuilder:printcolumn:name="Backup",type=string,JSONPath=`.status.backup`
// +kubebuilder:printcolumn:name="Bytes",type=integer,JSONPath=`.status.bytes`
// +kubebuilder:printcolumn:name="Contents",type=string,JSONPath=`.status.contents`,priority=1
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.summary`
// +kubebuilder:printcolumn:name="Verified",type=date,JSONPath=`.status.verifiedAt`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type DatabaseBackup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   DatabaseBackupSpec   `json:"spec"`
	Status DatabaseBackupStatus `json:"status,omitempty"`
}

// DatabaseBackupList is a list of DatabaseBackups.
//
// +kubebuilder:object:root=true
type DatabaseBackupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []DatabaseBackup `json:"items"`
}

// DatabaseBackupSpec is what is asked for, once.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a backup is asked for once: make another object",reason=FieldValueForbidden
type DatabaseBackupSpec struct {
	// Cluster is the name of a DatabaseCluster in the same namespace.
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	Cluster string `json:"cluster"`
	// Repository is where it goes, "pvc:CLAIM" or "pvc:CLAIM/PATH"; that of the
	// cluster by default.
	// +kubebuilder:validation:Pattern=`^(pvc:[a-z0-9]([-a-z0-9.]*[a-z0-9])?(/[^[:cntrl:]]*)?|[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?)?$`
	// +kubebuilder:validation:MaxLength=512
	Repository string `json:"repository,omitempty"`
	// Incremental takes only what changed since the newest full backup there: PostgreSQL 17 or later with
	// summarize_wal=on.
	Incremental bool `json:"incremental,omitempty"`
	// Verify restores the backup into a throw-away member and compares.
	Verify bool `json:"verify,omitempty"`
}

// DatabaseBackupStatus is what became of it.
type DatabaseBackupStatus struct {
	// ObservedGeneration is the generation that Conditions speak of.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions are Ready, Reconciling and Stalled.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Summary is how far it is, in a word: pending, running, taken, verified,
	// stalled, cancelled.
	Summary string `json:"summary,omitempty"`
	// Operation that takes it, by the name of its record.
	Operation string `json:"operation,omitempty"`
	// Repository and Backup name it, once it is complete.
	Repository string `json:"repository,omitempty"`
	Backup     string `json:"backup,omitempty"`
	// Bytes of it, and in the engine's words what it holds: "revision 42, keys 7".
	Bytes    int64  `json:"bytes,omitempty"`
	Contents string `json:"contents,omitempty"`
	// TakenAt is when it was complete, VerifiedAt when it had been restored and compared.
	TakenAt    *metav1.Time `json:"takenAt,omitempty"`
	VerifiedAt *metav1.Time `json:"verifiedAt,omitempty"`
	// EndedAt is when nothing was left to do about it.
	EndedAt *metav1.Time `json:"endedAt,omitempty"`
}
