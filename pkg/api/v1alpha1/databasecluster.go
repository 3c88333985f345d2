package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// DatabaseCluster is one database cluster: the wanted state in Spec, and in
// Status only what cannot be observed again. As a custom resource it is what a
// person wants and how things are; what an operator accepted of it, and the
// facts about the founding, stay in the cluster's record.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=dbc,categories=dbop
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.members,statuspath=.status.members,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Engine",type=string,JSONPath=`.spec.engine`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.ready`
// +kubebuilder:printcolumn:name="Leader",type=string,JSONPath=`.status.leader`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.summary`
// +kubebuilder:printcolumn:name="Last-Backup",type=date,JSONPath=`.status.lastBackup.time`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 40",message="the name of a cluster has at most 40 characters: names of pods and volumes are made of it",reason=FieldValueInvalid
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="the name of a cluster begins with a letter and has small letters, digits and '-' only: services are named after it",reason=FieldValueInvalid
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
//
// +kubebuilder:validation:XValidation:rule="self.engine == oldSelf.engine",message="the engine of a cluster can't change",fieldPath=".engine",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="has(self.restoreFrom) == has(oldSelf.restoreFrom) && (!has(self.restoreFrom) || self.restoreFrom == oldSelf.restoreFrom)",message="a cluster is restored when it is created; restore in place with 'kubectl dbop restore NAME --in-place'",fieldPath=".restoreFrom",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="has(self.source) == has(oldSelf.source) && (!has(self.source) || self.source == oldSelf.source)",message="what a cluster is a copy of is settled when it is created",fieldPath=".source",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="!has(self.source) || !has(self.restoreFrom)",message="a cluster begins from a backup or as the copy of a server, not both",fieldPath=".source",reason=FieldValueInvalid
// +kubebuilder:validation:XValidation:rule="(has(self.tls) && has(self.tls.disabled) && self.tls.disabled) == (has(oldSelf.tls) && has(oldSelf.tls.disabled) && oldSelf.tls.disabled)",message="how a cluster is secured is settled when it is created",fieldPath=".tls",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="self.engine != 'etcd' || int(self.version.split('.')[0]) == int(oldSelf.version.split('.')[0]) && int(self.version.split('.')[1]) - int(oldSelf.version.split('.')[1]) <= 1",message="etcd is upgraded one minor version at a time",fieldPath=".version",reason=FieldValueInvalid
// +kubebuilder:validation:XValidation:rule="self.engine != 'etcd' || int(oldSelf.version.split('.')[1]) - int(self.version.split('.')[1]) <= 1",message="etcd is downgraded one minor version at a time",fieldPath=".version",reason=FieldValueInvalid
// +kubebuilder:validation:XValidation:rule="!has(self.routing) || self.routing != 'Direct' || self.engine != 'etcd'",message="clients of etcd reach all members directly",fieldPath=".routing",reason=FieldValueInvalid
// +kubebuilder:validation:XValidation:rule="self.version.split('.').size() == (self.engine == 'postgres' ? 2 : 3)",message="the version must be a full one, such as 3.6.16 of etcd or 17.12 of PostgreSQL",fieldPath=".version",reason=FieldValueInvalid
type DatabaseClusterSpec struct {
	// Engine is the database product, for example "etcd". Immutable.
	// +kubebuilder:validation:Enum=etcd;postgres;redis;valkey
	Engine string `json:"engine"`
	// Version is a full version such as "3.6.16", or "17.12" of PostgreSQL;
	// commands accept the beginning of one ("3.6") and write the newest they know.
	// +kubebuilder:validation:Pattern=`^[0-9]{1,4}(\.[0-9]{1,4}){1,2}$`
	// +kubebuilder:validation:MaxLength=14
	Version string `json:"version"`
	// Members is the number of members that vote or serve.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=99
	// +kubebuilder:default=3
	Members int32 `json:"members"`
	// Storage is the volume of each member.
	// +kubebuilder:default={}
	Storage Storage `json:"storage,omitempty"`
	// Resources are requests and limits of the database container.
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
	// Image overrides the image of the catalog, tag or digest included.
	// +kubebuilder:validation:Pattern=`^([a-zA-Z0-9][a-zA-Z0-9._-]*(:[0-9]+)?(/[a-z0-9][a-z0-9._-]*)*(:[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127})?(@sha256:[a-f0-9]{64})?)?$`
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`
	// Registry replaces the registry host of every catalog image, for sites
	// that mirror.
	// +kubebuilder:validation:Pattern=`^([a-zA-Z0-9][a-zA-Z0-9._-]*(:[0-9]+)?(/[a-z0-9][a-z0-9._-]*)*)?$`
	// +kubebuilder:validation:MaxLength=255
	Registry string `json:"registry,omitempty"`
	// HelperImage is the image of this tool, for pods that load or keep
	// backups. The agents beside members come from it too: another one restarts
	// members one by one.
	// +kubebuilder:validation:Pattern=`^([a-zA-Z0-9][a-zA-Z0-9._-]*(:[0-9]+)?(/[a-z0-9][a-z0-9._-]*)*(:[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127})?(@sha256:[a-f0-9]{64})?)?$`
	// +kubebuilder:validation:MaxLength=512
	HelperImage string `json:"helperImage,omitempty"`
	// TLS says how clients and peers are secured.
	TLS TLS `json:"tls,omitempty"`
	// Auth says whether clients must log in, and as whom they can.
	Auth Auth `json:"auth,omitempty"`
	// Config holds engine options by name, without leading dashes.
	// +kubebuilder:validation:MaxProperties=200
	Config map[string]string `json:"config,omitempty"`
	// AntiAffinity is "Preferred" (default) or "Required": members on
	// different nodes.
	// +kubebuilder:validation:Enum=Preferred;Required
	AntiAffinity string `json:"antiAffinity,omitempty"`
	// Routing is how the client service leads to the primary, for engines with
	// agents. "Proxied" (default): all members answer, and their agents pass
	// clients on; that goes on while the API server is away. "Direct": the
	// service selects the primary's pod, and its agent may change this one
	// service; nothing is between client and server.
	// +kubebuilder:validation:Enum=Direct;Proxied
	Routing Routing `json:"routing,omitempty"`
	// Backup names the default repository, and says when backups are taken.
	Backup BackupPolicy `json:"backup,omitempty"`
	// RestoreFrom makes the first member from a backup. Immutable.
	RestoreFrom *RestoreSource `json:"restoreFrom,omitempty"`
	// Source is another server or cluster. The cluster begins as a copy of it and follows it, and takes no writes
	// of clients, until 'kubectl dbop cutover'. It means nothing after that. Immutable.
	Source *Source `json:"source,omitempty"`
	// InitialSQL is carried out once in the new database, for engines that speak SQL. It means nothing after that.
	// Immutable.
	InitialSQL *InitialSQL `json:"initialSQL,omitempty"`
	// RedirectTo names a cluster of the namespace that took this one's place: the services for clients of this one lead
	// to the members of that one.
	// +kubebuilder:validation:Pattern=`^([a-z]([-a-z0-9]*[a-z0-9])?)?$`
	// +kubebuilder:validation:MaxLength=40
	RedirectTo string `json:"redirectTo,omitempty"`
	// Successor names a cluster of the namespace that may begin as the copy of this one (spec.source.cluster) by a custom
	// resource: it gets the authority and the passwords of this one.
	// +kubebuilder:validation:Pattern=`^([a-z]([-a-z0-9]*[a-z0-9])?)?$`
	// +kubebuilder:validation:MaxLength=40
	Successor string `json:"successor,omitempty"`
	// Stopped keeps the volumes and nothing else running.
	Stopped bool `json:"stopped,omitempty"`
	// Paused keeps every driver from acting on this cluster.
	Paused bool `json:"paused,omitempty"`
	// Waive lists the safety checks, by name, that the operations which follow
	// from this object give up: backup, downtime, size, and way-back. With the last one data of another major
	// version is converted on the volume of its member, which takes less time and has no way back from the first
	// start of that version.
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:Enum=backup;downtime;size;way-back
	// +listType=set
	Waive []string `json:"waive,omitempty"`
	// DeletionPolicy says what becomes of the data when the custom resource is
	// deleted: "Backup" takes a last backup and keeps the volumes, "Keep" keeps
	// them, "Purge" drops them. Default: Backup where a repository is named,
	// Keep otherwise.
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// DeletionPolicy is what the deletion of a custom resource does to the data.
//
// +kubebuilder:validation:Enum=Backup;Keep;Purge
type DeletionPolicy string

// The policies.
const (
	DeletionBackup DeletionPolicy = "Backup"
	DeletionKeep   DeletionPolicy = "Keep"
	DeletionPurge  DeletionPolicy = "Purge"
)

// Storage is the volume of a member.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.size) || has(self.size) && quantity(string(self.size)).compareTo(quantity(string(oldSelf.size))) >= 0",message="a volume can't become smaller; restore into a new cluster instead",fieldPath=".size",reason=FieldValueInvalid
// +kubebuilder:validation:XValidation:rule="has(self.className) == has(oldSelf.className) && (!has(self.className) || self.className == oldSelf.className)",message="volumes can't move to another storage class",fieldPath=".className",reason=FieldValueForbidden
type Storage struct {
	// Size of each member's volume.
	// +kubebuilder:default="1Gi"
	Size resource.Quantity `json:"size,omitempty"`
	// ClassName is the storage class; nil takes the default class.
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$`
	// +kubebuilder:validation:MaxLength=253
	ClassName *string `json:"className,omitempty"`
}

// BackupPolicy is where backups go unless a command says otherwise, and when
// they are taken unasked.
//
// +kubebuilder:validation:XValidation:rule="!has(self.schedule) || has(self.repository) && size(self.repository) > 0",message="scheduled backups go to a claim or an object store: repository must be \"pvc:CLAIM\", \"pvc:CLAIM/PATH\" or the name of a repository",fieldPath=".repository",reason=FieldValueInvalid
// +kubebuilder:validation:XValidation:rule="has(self.schedule) || ![has(self.timeZone), has(self.keep), has(self.keepFor), has(self.keepDaily), has(self.keepWeekly), has(self.keepMonthly), has(self.keepYearly), has(self.verify), has(self.full)].exists(x, x)",message="timeZone, verify, full and what is kept are of a schedule, and there is none",fieldPath=".schedule",reason=FieldValueInvalid
type BackupPolicy struct {
	// Repository is "pvc:CLAIM", "pvc:CLAIM/PATH" or the name of a repository; a custom resource names no
	// directory of a machine ("dir:/path"), which only the command line has.
	// +kubebuilder:validation:Pattern=`^(pvc:[a-z0-9]([-a-z0-9.]*[a-z0-9])?(/[^[:cntrl:]]*)?|[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?)?$`
	// +kubebuilder:validation:MaxLength=512
	Repository string `json:"repository,omitempty"`
	// Schedule is when backups are taken, as cron writes it: "0 2 * * *". A
	// CronJob takes them, with an operator or without.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[-0-9A-Za-z*/,?@ ]+$`
	Schedule string `json:"schedule,omitempty"`
	// TimeZone of the schedule, for example "Europe/Berlin"; that of the
	// controller manager by default, which mostly is UTC.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z][-+_/A-Za-z0-9]*$`
	TimeZone string `json:"timeZone,omitempty"`
	// Retention says which of them stay.
	Retention `json:",inline"`
	// Verify is how often one of them is restored into a throw-away member and compared.
	// "" is never.
	Verify Interval `json:"verify,omitempty"`
	// Full is how often one of them holds all data. The others hold what changed since then: PostgreSQL 17 or later whose
	// setting summarize_wal is on. "" has all of them hold all data.
	Full Interval `json:"full,omitempty"`
}

// RestoreSource is the backup that a cluster begins from.
type RestoreSource struct {
	// Repository is a repository URL, see BackupPolicy.
	// +kubebuilder:validation:Pattern=`^(pvc:[a-z0-9]([-a-z0-9.]*[a-z0-9])?(/[^[:cntrl:]]*)?|[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?)$`
	// +kubebuilder:validation:MaxLength=512
	Repository string `json:"repository"`
	// Backup is the identifier inside the repository.
	// +kubebuilder:validation:Pattern=`^[a-z0-9][-a-z0-9TZ]*$`
	// +kubebuilder:validation:MaxLength=128
	Backup string `json:"backup"`
	// KeepRevision leaves the revision as it was in the backup. The default
	// bumps it and marks it compacted, so that no watcher sees time go back.
	KeepRevision bool `json:"keepRevision,omitempty"`
	// RootSecret names a secret with the administrator's password of the time of
	// the backup, where the backup demands one and no certificate replaces it.
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$`
	// +kubebuilder:validation:MaxLength=253
	RootSecret string `json:"rootSecret,omitempty"`
	// Target is where the archived log ends that is used up after the backup. Without it the data is that of the backup.
	// +optional
	Target RecoveryTarget `json:"target,omitzero"`
	// FormerImage is the image of the version that the backup is of, instead of the catalog's, where the data is
	// converted.
	// +kubebuilder:validation:Pattern=`^([a-zA-Z0-9][a-zA-Z0-9._-]*(:[0-9]+)?(/[a-z0-9][a-z0-9._-]*)*(:[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127})?(@sha256:[a-f0-9]{64})?)?$`
	// +kubebuilder:validation:MaxLength=512
	FormerImage string `json:"formerImage,omitempty"`
}

// DatabaseClusterStatus holds facts that can't be observed again, and a summary for readers.
type DatabaseClusterStatus struct {
	// ID is the permanent identifier of the cluster, on all of its objects too.
	// It is made with the cluster and never changes, also when data is restored
	// in place.
	ID string `json:"id,omitempty"`
	// ObservedGeneration is the generation that Conditions speak of.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions are Ready, Reconciling and Stalled.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Bootstrap says how the cluster came to be.
	Bootstrap *Bootstrap `json:"bootstrap,omitempty"`
	// Summary is how the cluster is, in a word: healthy, degraded, down, or what it is busy with.
	Summary string `json:"summary,omitempty"`
	// Version that every member runs; "" while they differ.
	Version string `json:"version,omitempty"`
	// Members that vote or serve, and Selector of their pods: the scale subresource.
	Members  int32  `json:"members,omitempty"`
	Selector string `json:"selector,omitempty"`
	// Ready is the number of healthy members of those that are wanted, as "2/3".
	Ready string `json:"ready,omitempty"`
	// Leader is the member that leads.
	Leader string `json:"leader,omitempty"`
	// Operation in flight, by the name of its record.
	Operation string `json:"operation,omitempty"`
	// Operator that manages this cluster, as the namespace and name of its heartbeat lease.
	Operator string `json:"operator,omitempty"`
	// Deletion is set once an operator saw the custom resource being deleted.
	Deletion *Deletion `json:"deletion,omitempty"`
	// Pause says who paused the cluster with a command.
	Pause *Pause `json:"pause,omitempty"`
	// LastBackup and LastVerifiedBackup are the newest ones known to this tool.
	LastBackup         *BackupReference `json:"lastBackup,omitempty"`
	LastVerifiedBackup *BackupReference `json:"lastVerifiedBackup,omitempty"`
	// LastProof is the newest proof of a backup that succeeded, of any level: of the newest backup of which one did.
	LastProof *BackupProof `json:"lastProof,omitempty"`
	// FailedProof is the newest proof of a backup that failed, until one succeeds that answers it, or that backup is
	// deleted.
	FailedProof *FailedProof `json:"failedProof,omitempty"`
}

// Deletion is the deletion of a custom resource that a running operator saw,
// while the definition of its kind was there to stay. It is written before the
// database is ended.
type Deletion struct {
	// Object is the UID of the custom resource.
	Object types.UID `json:"object"`
	// Record is the UID of the record that this was written to: in a copy of the
	// record, restored from a backup, it means nothing.
	Record types.UID   `json:"record"`
	At     metav1.Time `json:"at"`
}

// Pause says who asked that nobody acts on a cluster, from which host, and when.
type Pause struct {
	By   string      `json:"by,omitempty"`
	From string      `json:"from,omitempty"`
	At   metav1.Time `json:"at"`
}

// FailedProof says that a backup was verified, and is not what it should be.
type FailedProof struct {
	Repository string `json:"repository"`
	ID         string `json:"id"`
	// Level is what was to be proven: present, intact or restorable.
	Level string `json:"level"`
	// Time is when that was found out, and Reason why it is not so, in one line.
	Time   metav1.Time `json:"time"`
	Reason string      `json:"reason"`
}

// BackupReference names a backup and says when it was made or verified.
type BackupReference struct {
	Repository string      `json:"repository"`
	ID         string      `json:"id"`
	Time       metav1.Time `json:"time"`
	// StartedAt is when its stream began, of a backup that was made: what was committed before is in it.
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// Log is the token of the incarnation whose log was archived beside it, in the same repository, when it was made; ""
	// for none. Only that log goes on from it.
	Log string `json:"log,omitempty"`
}

// BackupProof says at which level a backup was proven: present, intact or restorable.
type BackupProof struct {
	BackupReference `json:",inline"`

	Level string `json:"level"`
}
