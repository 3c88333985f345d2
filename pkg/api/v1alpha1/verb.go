package v1alpha1

// Verb names an operation as the command line spells it.
type Verb string

// The verbs.
const (
	VerbCreate       Verb = "create"
	VerbAddMember    Verb = "add-member"
	VerbRemoveMember Verb = "remove-member"
	VerbScale        Verb = "scale"
	VerbUpgrade      Verb = "upgrade"
	VerbDowngrade    Verb = "downgrade"
	VerbBackup       Verb = "backup"
	VerbSchedule     Verb = "backup-schedule"
	VerbRestore      Verb = "restore"
	VerbDelete       Verb = "delete"
	VerbDropVolumes  Verb = "drop-volumes"

	VerbReplaceMember Verb = "replace-member"
	VerbSwitchover    Verb = "switchover"
	VerbFailover      Verb = "failover"
	VerbCutover       Verb = "cutover"
	VerbFollow        Verb = "follow"
	VerbHold          Verb = "hold"
	VerbRestart       Verb = "restart"
	VerbStop          Verb = "stop"
	VerbStart         Verb = "start"
	VerbDefrag        Verb = "defrag"
	VerbCompact       Verb = "compact"
	VerbClearAlarms   Verb = "alarms-clear"
	VerbConfigure     Verb = "configure"
	VerbResize        Verb = "resize"
	VerbRecover       Verb = "recover"
	VerbRepair        Verb = "repair"

	VerbEnableAuth        Verb = "auth-enable"
	VerbDisableAuth       Verb = "auth-disable"
	VerbCreateUser        Verb = "user-create"
	VerbDeleteUser        Verb = "user-delete"
	VerbRotateCredentials Verb = "credentials-rotate"

	VerbRotateCertificates Verb = "certificates-rotate"
)

// Rotation is what a rotation of certificates renews.
type Rotation string

// The rotations. One of the authority has two halves, between which every
// client reads its secret again; it may take days, and the cluster is free
// meanwhile.
const (
	// RotateLeaves issues every certificate again by the same authority.
	RotateLeaves Rotation = "leaves"
	// RotateBegin puts a new authority beside the old one and has everybody
	// trust both; clients get certificates of the new one.
	RotateBegin Rotation = "begin"
	// RotateFinish gives members certificates of the new authority, and lets
	// nobody trust the old one any more.
	RotateFinish Rotation = "finish"
	// RotateAtOnce is both halves without a stop.
	RotateAtOnce Rotation = "at-once"
	// RotateAbandon takes the new authority away again.
	RotateAbandon Rotation = "abandon"
)

// RecoveryMethod is a way back from a lost quorum.
type RecoveryMethod string

// The methods, from the one that loses nothing to the one that loses most.
const (
	// RecoverBringBack gives pods to members whose volumes exist; no data is touched.
	RecoverBringBack RecoveryMethod = "bring-back"
	// RecoverData begins again from the most advanced data that is left.
	RecoverData RecoveryMethod = "data"
	// RecoverBackup begins again from a backup.
	RecoverBackup RecoveryMethod = "backup"
)

// Phase is how far an operation came.
type Phase string

// The phases. Running, Paused and Cancelling hold the cluster: no other
// operation starts.
const (
	PhaseRunning    Phase = "Running"
	PhasePaused     Phase = "Paused"
	PhaseCancelling Phase = "Cancelling"
	PhaseSucceeded  Phase = "Succeeded"
	PhaseFailed     Phase = "Failed"
	PhaseCancelled  Phase = "Cancelled"
)
