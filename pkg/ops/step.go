package ops

import "time"

// BackupStepPrefix and the backup's identifier are the ID of the step that takes it.
const BackupStepPrefix = "backup/"

// Action is what a step does. Each is performed idempotently: a repeat after
// success changes nothing, and a crash inside leaves a state from which the
// same decision follows again.
type Action string

// The actions.
const (
	ActionCertificates     Action = "create-certificates"
	ActionServices         Action = "create-services"
	ActionAccount          Action = "create-account"
	ActionDropAccount      Action = "delete-account"
	ActionBudget           Action = "set-budget"
	ActionStart            Action = "start-members"
	ActionCorrect          Action = "correct-member"
	ActionRecordFormed     Action = "record-bootstrap"
	ActionDisableBootstrap Action = "disable-bootstrap"
	ActionRegister         Action = "register-member"
	ActionPromote          Action = "promote-member"
	ActionDeregister       Action = "deregister-member"
	ActionHandOver         Action = "hand-over"
	ActionFailOver         Action = "fail-over"
	ActionCutOver          Action = "cut-over"
	ActionFollow           Action = "follow"
	ActionEndBack          Action = "end-way-back"
	ActionHold             Action = "hold"
	ActionTakeBack         Action = "take-back-settings"
	ActionKeep             Action = "keep-member"
	ActionRetire           Action = "retire-member"
	ActionPrepare          Action = "prepare-upgrade"
	ActionUpgrade          Action = "upgrade-member"
	ActionGrow             Action = "grow-volumes"
	ActionRoll             Action = "roll-member"
	ActionConfigure        Action = "change-settings"
	ActionHelperImage      Action = "change-helper-image"
	ActionAnnounce         Action = "announce-downgrade"
	ActionWithdraw         Action = "withdraw-downgrade"
	ActionDowngrade        Action = "downgrade-member"
	ActionRestart          Action = "restart-member"
	ActionRevive           Action = "revive-member"
	ActionDefragment       Action = "defragment-member"
	ActionCompact          Action = "compact-history"
	ActionCompare          Action = "compare-members"
	ActionClearAlarms      Action = "clear-alarms"
	ActionProveWrite       Action = "prove-write"
	ActionRenew            Action = "renew-certificate"
	ActionAddCA            Action = "add-authority"
	ActionTrust            Action = "distribute-trust"
	ActionPromoteCA        Action = "promote-authority"
	ActionDropCA           Action = "drop-authority"
	ActionBackup           Action = "backup"
	ActionVerify           Action = "verify-backup"
	ActionStopBackup       Action = "stop-backup"
	ActionProveBackup      Action = "prove-backup"
	ActionPrune            Action = "prune-backups"
	ActionSchedule         Action = "schedule-backups"
	ActionUnschedule       Action = "unschedule-backups"
	ActionArchive          Action = "archive-log"
	ActionUnarchive        Action = "unarchive-log"
	ActionLoad             Action = "load-backup"
	ActionStandby          Action = "start-converter"
	ActionConvert          Action = "convert-data"
	ActionDismiss          Action = "end-converter"
	ActionRevert           Action = "revert-data"
	ActionStop             Action = "stop-members"
	ActionNewIncarnation   Action = "begin-incarnation"
	ActionOldIncarnation   Action = "return-to-incarnation"
	ActionDeleteVolume     Action = "delete-volumes"
	ActionDeleteAll        Action = "delete-objects"
	ActionForget           Action = "delete-record"
	ActionForgetPods       Action = "forget-pods"
	ActionFence            Action = "fence-members"
	ActionExamine          Action = "examine-volume"
	ActionRecoverData      Action = "recover-data"
	ActionRepair           Action = "repair"
	ActionWait             Action = "wait"

	ActionDeleteLeftovers Action = "delete-leftovers"
	ActionWriteRecord     Action = "write-record"
	ActionRestoreCA       Action = "restore-authority"

	ActionCredentials Action = "create-credentials" // #nosec G101 -- a step's name
	ActionEnsureUser  Action = "ensure-user"
	ActionDeleteUser  Action = "delete-user"
	ActionEnableAuth  Action = "enable-auth"
	ActionDisableAuth Action = "disable-auth"
	ActionProveAuth   Action = "prove-auth"
	ActionInitialSQL  Action = "run-initial-sql"
	ActionRotate      Action = "rotate-credentials"
	ActionDropOld     Action = "drop-credentials"
)

// Risk says what a step costs or may cost.
type Risk string

// The risks, from none to the worst.
const (
	RiskNone         Risk = "none"
	RiskLeaderMove   Risk = "leader-move"
	RiskRestart      Risk = "restart"
	RiskDowntime     Risk = "downtime"
	RiskIrreversible Risk = "irreversible"
)

// Step is one effect, or one wait, as data.
type Step struct {
	// ID is stable over re-planning: action/member, or wait/what.
	ID     string `json:"id"`
	Action Action `json:"action"`
	// Members that the step acts on, for most exactly one.
	Members []string `json:"members,omitempty"`
	// To is the member that receives leadership.
	To string `json:"to,omitempty"`
	// Witness: the member that ActionRegister announces votes and holds no data.
	Witness bool `json:"witness,omitempty"`
	// Alarm is the name of the alarms that ActionClearAlarms takes back.
	Alarm string `json:"alarm,omitempty"`
	// User of the database that the step acts on.
	User string `json:"user,omitempty"`
	// Parent is the backup that the one of ActionBackup adds to; "" for one that holds all data.
	Parent string `json:"parent,omitempty"`
	// Title in the imperative, for people; Reason why now.
	Title  string `json:"title"`
	Reason string `json:"reason,omitempty"`
	Risk   Risk   `json:"risk"`
	// Touches lists objects as kind/name.
	Touches []string `json:"touches,omitempty"`
	// Budget is the wanted minAvailable of ActionBudget; 0 removes it.
	Budget int32 `json:"budget,omitempty"`
	// Secret is the certificate that ActionRenew is about; NextCA has it signed
	// by the authority that is about to take over.
	Secret string `json:"secret,omitempty"`
	NextCA bool   `json:"nextCA,omitempty"`
	// Deadline bounds the step, or the wait since it began.
	Deadline time.Duration `json:"-"`
	// Tolerates is, in a plan, how many more voters may fail after this step
	// before the cluster stops; nil where that has no meaning yet.
	Tolerates *int `json:"tolerates,omitempty"`
	// During is, in a plan, the least of Tolerates while the step runs: a member
	// that restarts counts as failed. Negative: the database is down.
	During *int `json:"toleratesDuring,omitempty"`
	// Leader is, in a plan, who leads after this step.
	Leader string `json:"leader,omitempty"`
}

// Member is the one member of the step.
func (s Step) Member() string {
	if len(s.Members) == 0 {
		return ""
	}
	return s.Members[0]
}

// Irreversible reports whether the lease is checked once more right before it.
func (s Step) Irreversible() bool { return s.Risk == RiskIrreversible }

// Streams reports whether the step moves data for long and may be cut off at
// any byte without harm.
func (s Step) Streams() bool {
	return s.Action == ActionBackup || s.Action == ActionVerify || s.Action == ActionLoad || s.Action == ActionRecoverData
}

// Lets reports whether the step only tells things to go. It is done when they
// are gone, which the next observation knows better than the step.
func (s Step) Lets() bool {
	return s.Action == ActionStop || s.Action == ActionRetire || s.Action == ActionDeleteVolume ||
		s.Action == ActionFence || s.Action == ActionForgetPods
}
