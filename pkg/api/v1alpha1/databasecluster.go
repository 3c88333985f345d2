package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DatabaseCluster is one database cluster: the wanted state in Spec, and in
// Status only what cannot be observed again.
//
// +kubebuilder:object:root=true
type DatabaseCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   DatabaseClusterSpec   `json:"spec"`
	Status DatabaseClusterStatus `json:"status,omitempty"`
}

// DatabaseClusterList is a list of DatabaseClusters.
//
// +kubebuilder:object:root=true
type DatabaseClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []DatabaseCluster `json:"items"`
}

// DatabaseClusterSpec is what a person wants.
type DatabaseClusterSpec struct {
	// Engine is the database product, for example "etcd". Immutable.
	Engine string `json:"engine"`
	// Version is a full version such as "3.6.16"; commands accept a minor
	// ("3.6") and write the newest patch they know.
	Version string `json:"version"`
	// Members is the number of members that vote or serve.
	Members int32 `json:"members"`
	// Storage is the volume of each member.
	Storage Storage `json:"storage,omitempty"`
	// Resources are requests and limits of the database container.
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
	// Image overrides the image of the catalog, tag or digest included.
	Image string `json:"image,omitempty"`
	// Registry replaces the registry host of every catalog image, for sites
	// that mirror.
	Registry string `json:"registry,omitempty"`
	// HelperImage is the image of this tool, for pods that load or keep backups.
	HelperImage string `json:"helperImage,omitempty"`
	// TLS says how clients and peers are secured.
	TLS TLS `json:"tls,omitempty"`
	// Auth says whether clients must log in, and as whom they can.
	Auth Auth `json:"auth,omitempty"`
	// Config holds engine options by name, without leading dashes.
	Config map[string]string `json:"config,omitempty"`
	// AntiAffinity is "Preferred" (default) or "Required": members on
	// different nodes.
	AntiAffinity string `json:"antiAffinity,omitempty"`
	// Backup names the default repository.
	Backup BackupPolicy `json:"backup,omitempty"`
	// RestoreFrom makes the first member from a backup. Immutable.
	RestoreFrom *RestoreSource `json:"restoreFrom,omitempty"`
	// Stopped keeps the volumes and nothing else running.
	Stopped bool `json:"stopped,omitempty"`
	// Paused keeps every driver from acting on this cluster.
	Paused bool `json:"paused,omitempty"`
}

// Storage is the volume of a member.
type Storage struct {
	// Size of each member's volume.
	Size resource.Quantity `json:"size,omitempty"`
	// ClassName is the storage class; nil takes the default class.
	ClassName *string `json:"className,omitempty"`
}

// TLS of a cluster. The zero value is TLS on, with a CA of its own.
type TLS struct {
	// Disabled serves peers and clients in plain text.
	Disabled bool `json:"disabled,omitempty"`
	// CASecret names a secret of type kubernetes.io/tls with an authority of the
	// person's. It is read when the cluster is created and when the authority
	// is rotated, and never changed.
	CASecret string `json:"caSecret,omitempty"`
}

// Auth of a cluster's clients.
type Auth struct {
	// Enabled turns away clients that don't log in.
	Enabled bool `json:"enabled,omitempty"`
	// Users that were made besides the administrator and the applications' user.
	Users []DatabaseUser `json:"users,omitempty"`
}

// DatabaseUser is a user of the database. The password is in a secret alone.
type DatabaseUser struct {
	Name string `json:"name"`
	// Prefix of the keys that the user may use; "" is every key.
	Prefix string `json:"prefix,omitempty"`
	// ReadOnly forbids writing.
	ReadOnly bool `json:"readOnly,omitempty"`
}

// BackupPolicy is where backups go unless a command says otherwise.
type BackupPolicy struct {
	// Repository is a repository URL: "dir:/path" or "pvc:claim-name[/path]".
	Repository string `json:"repository,omitempty"`
}

// RestoreSource is the backup that a cluster begins from.
type RestoreSource struct {
	// Repository is a repository URL, see BackupPolicy.
	Repository string `json:"repository"`
	// Backup is the identifier inside the repository.
	Backup string `json:"backup"`
	// KeepRevision leaves the revision as it was in the backup. The default
	// bumps it and marks it compacted, so that no watcher sees time go back.
	KeepRevision bool `json:"keepRevision,omitempty"`
	// RootSecret names a secret with the administrator's password of the time of
	// the backup, where the backup demands one and no certificate stands in for it.
	RootSecret string `json:"rootSecret,omitempty"`
}

// DatabaseClusterStatus holds facts that can't be observed again, and a summary for readers.
type DatabaseClusterStatus struct {
	// ObservedGeneration is the generation that Conditions speak of.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions are Ready, Reconciling and Stalled.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Formation says how the cluster came to be.
	Formation *Formation `json:"formation,omitempty"`
	// Trust is the generation or fingerprint of the CA bundle that members are
	// to start with. Members read it once, so a change makes them due for a roll.
	Trust string `json:"trust,omitempty"`
	// LastBackup and LastVerifiedBackup are the newest ones known to this tool.
	LastBackup         *BackupReference `json:"lastBackup,omitempty"`
	LastVerifiedBackup *BackupReference `json:"lastVerifiedBackup,omitempty"`
}

// Formation is written before the first member starts. Until ClusterID is set
// the founding members, and only they, may start as a new cluster; from then
// on every member joins an existing one, for good.
type Formation struct {
	// Token separates this cluster from any other of the same name.
	Token string `json:"token"`
	// Members are the names of the founding members.
	Members []string `json:"members"`
	// ClusterID is what the members said once they had formed.
	ClusterID string `json:"clusterID,omitempty"`
	// Loaded says that the founding member's volume holds the restored backup.
	Loaded bool `json:"loaded,omitempty"`
	// ExpectedKeys and ExpectedHash are of the loaded backup, to be compared
	// with what the founding member serves.
	ExpectedKeys int64  `json:"expectedKeys,omitempty"`
	ExpectedHash string `json:"expectedHash,omitempty"`
	// Epoch counts in-place restores.
	Epoch int32 `json:"epoch,omitempty"`
}

// BackupReference names a backup and says when it was made or verified.
type BackupReference struct {
	Repository string      `json:"repository"`
	ID         string      `json:"id"`
	Time       metav1.Time `json:"time"`
}
