package ops

import (
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// Disturbance is what an action does to a backup that a member streams.
type Disturbance int

// The disturbances.
const (
	// Spares: every member runs on, in its role.
	Spares Disturbance = iota + 1
	// Named: the members that the step names restart, stop, leave, change their role, or serve nobody meanwhile.
	Named
	// Every member may: the step names no member, or not all that it concerns. Two backups of one cluster never overlap.
	Every
	// Scheduled: what takes scheduled backups goes, and with it the pod that takes one.
	Scheduled
	// Ends: nothing of the cluster is left, nor of what proves its backup.
	Ends
)

// disturbances has a line for every action.
func disturbances() map[Action]Disturbance {
	return map[Action]Disturbance{
		ActionWait: Spares, ActionCertificates: Spares, ActionServices: Spares, ActionAccount: Spares,
		ActionDropAccount: Spares, ActionBudget: Spares, ActionRecordFormed: Spares, ActionWriteRecord: Spares,
		ActionDeleteLeftovers: Spares, ActionRepair: Spares, ActionKeep: Spares, ActionHelperImage: Spares,
		ActionHold: Spares, ActionEndBack: Spares, ActionGrow: Spares,
		// These change templates, or what members agree on, and restart nobody that runs.
		ActionDisableBootstrap: Spares, ActionRegister: Spares, ActionStart: Spares,
		ActionPromote: Spares, ActionPrepare: Spares, ActionAnnounce: Spares,
		ActionWithdraw: Spares, ActionCompact: Spares, ActionCompare: Spares, ActionClearAlarms: Spares,
		ActionProveWrite: Spares, ActionConfigure: Spares, ActionTakeBack: Spares,
		// A member asks for certificates and passwords when somebody connects, and a stream is connected. Should its sessions
		// end with a former user, it breaks off and is tried again with the present one.
		ActionRenew: Spares, ActionAddCA: Spares, ActionTrust: Spares, ActionPromoteCA: Spares, ActionDropCA: Spares,
		ActionRestoreCA: Spares, ActionCredentials: Spares, ActionEnsureUser: Spares, ActionDeleteUser: Spares,
		ActionEnableAuth: Spares, ActionDisableAuth: Spares, ActionProveAuth: Spares, ActionInitialSQL: Spares,
		ActionRotate: Spares, ActionDropOld: Spares,

		ActionVerify: Spares, ActionStopBackup: Spares, ActionProveBackup: Spares, ActionPrune: Spares,
		ActionSchedule: Spares, ActionArchive: Spares, ActionUnarchive: Spares,
		ActionUnschedule: Scheduled, ActionBackup: Every,

		ActionCorrect: Named, ActionDeregister: Named, ActionHandOver: Named,
		ActionRetire: Named, ActionUpgrade: Named, ActionDowngrade: Named, ActionRoll: Named, ActionRestart: Named,
		ActionRevive: Named, ActionStop: Named, ActionDeleteVolume: Named, ActionLoad: Named, ActionExamine: Named,
		ActionStandby: Named, ActionDismiss: Named,
		ActionDefragment: Named, // nothing else is read of the member meanwhile

		ActionFailOver: Every, ActionCutOver: Every, ActionFollow: Every, ActionFence: Every, ActionForgetPods: Every,
		ActionConvert: Every, ActionRevert: Every, ActionNewIncarnation: Every, ActionOldIncarnation: Every,
		ActionRecoverData: Every,
		ActionDeleteAll:   Ends, ActionForget: Ends,
	}
}

// Disturbs reports whether a backup that is in flight, taken from a member, can't outlast the step: it would break
// off, and be taken again from its beginning. A source that is not known ("") may be any member. Once the backup is
// taken only its proof is left, which needs no member.
func (s Step) Disturbs(backup *v1alpha1.Operation, source string) bool {
	taken := backup.Status.Facts[v1alpha1.FactBackup] != ""
	switch disturbances()[s.Action] {
	case Spares:
		return false
	case Named:
		return !taken && (source == "" || s.To == source || slices.Contains(s.Members, source))
	case Scheduled:
		return backup.Spec.Scheduled
	case Every:
		return !taken
	}
	return true
}

// Disturbs is the first step of the plan that disturbs a backup; nil if the backup goes on beside all of them.
func (p Plan) Disturbs(backup *v1alpha1.Operation, source string) *Step {
	for i := range p.Steps {
		if p.Steps[i].Disturbs(backup, source) {
			return &p.Steps[i]
		}
	}
	return nil
}
