package executor

import (
	"context"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// task is a step to perform, with the state that it was decided on.
type task struct {
	ops.State
	ops.Step
	report func(bytes, total int64)
}

// performer does what one action means. It is idempotent by itself. What has to come to rest (a pod that stops, a
// volume that goes) answers ErrNotReady and is asked again after the next observation.
type performer func(ctx context.Context, t task) (ops.Result, error)

// performers are all actions but the wait. A new action is a line here and one in the planner, which predicts it: a
// test of each package fails where one is missing.
func (l *Executor) performers() map[ops.Action]performer {
	return map[ops.Action]performer{
		ops.ActionCertificates:     effect(l.createCertificates),
		ops.ActionServices:         effect(l.applyServices),
		ops.ActionAccount:          l.createAccount,
		ops.ActionDropAccount:      l.dropAccount,
		ops.ActionBudget:           effect(l.applyBudget),
		ops.ActionWriteRecord:      effect(func(context.Context, task) error { return nil }), // before the operation
		ops.ActionStart:            effect(l.start),
		ops.ActionRecordFormed:     effect(l.recordFormed),
		ops.ActionDisableBootstrap: effect(l.disableBootstrap),

		ops.ActionRegister:   asking(l, l.register),
		ops.ActionPromote:    asking(l, promote),
		ops.ActionDeregister: asking(l, l.deregister),
		ops.ActionHandOver:   asking(l, handOver),
		ops.ActionFailOver:   asking(l, l.failOver),
		ops.ActionCutOver:    asking(l, l.cutOver),
		ops.ActionFollow:     asking(l, l.follow),
		ops.ActionEndBack:    asking(l, l.endBack),
		ops.ActionHold:       asking(l, l.hold),
		ops.ActionKeep:       effect(l.keep),
		ops.ActionRetire:     effect(l.retire),

		ops.ActionRestart:   effect(l.restart),
		ops.ActionRevive:    effect(l.revive),
		ops.ActionUpgrade:   effect(l.changeVersion),
		ops.ActionDowngrade: effect(l.changeVersion),
		ops.ActionCorrect:   effect(l.correct),
		ops.ActionRoll:      effect(l.roll),
		ops.ActionGrow:      effect(l.grow),
		ops.ActionConfigure: asking(l, l.configure),
		ops.ActionTakeBack:  asking(l, takeBack),
		ops.ActionHelperImage: func(context.Context, task) (ops.Result, error) { // the record names it before the first step
			return done(v1alpha1.FactHelperImage, nil)
		},
		ops.ActionPrepare: asking(l, prepare),
		ops.ActionStop:    effect(l.stop),

		ops.ActionDefragment:  asking(l, l.defragment),
		ops.ActionCompact:     asking(l, compact),
		ops.ActionCompare:     asking(l, compare),
		ops.ActionClearAlarms: asking(l, clearAlarms),
		ops.ActionProveWrite:  asking(l, proveWrite),
		ops.ActionAnnounce:    asking(l, announce),
		ops.ActionWithdraw:    asking(l, withdraw),

		ops.ActionRepair:    effect(l.repair),
		ops.ActionRenew:     effect(l.renewLeaf),
		ops.ActionAddCA:     effect(l.addAuthority),
		ops.ActionTrust:     effect(l.distributeTrust),
		ops.ActionPromoteCA: effect(l.promoteAuthority),
		ops.ActionDropCA:    effect(l.dropAuthority),
		ops.ActionRestoreCA: effect(l.restoreAuthority),

		ops.ActionCredentials: asking(l, l.createPasswords),
		ops.ActionEnsureUser:  asking(l, l.ensureUser),
		ops.ActionDeleteUser:  asking(l, l.deleteUser),
		ops.ActionRotate:      asking(l, l.rotate),
		ops.ActionDropOld:     asking(l, l.dropOld),
		ops.ActionEnableAuth:  asking(l, enableAuth),
		ops.ActionDisableAuth: asking(l, disableAuth),
		ops.ActionProveAuth:   asking(l, l.proveAuth),
		ops.ActionInitialSQL:  asking(l, l.initialSQL),

		ops.ActionBackup:      l.backup,
		ops.ActionVerify:      l.verify,
		ops.ActionStopBackup:  l.stopBackup,
		ops.ActionProveBackup: l.prove,
		ops.ActionPrune:       l.prune,
		ops.ActionSchedule:    effect(l.schedule),
		ops.ActionUnschedule:  effect(l.unschedule),
		ops.ActionArchive:     effect(l.archiveLog),
		ops.ActionUnarchive:   effect(l.unarchive),

		ops.ActionLoad:           effect(l.load),
		ops.ActionStandby:        l.standBy,
		ops.ActionDismiss:        effect(l.dismiss),
		ops.ActionConvert:        effect(l.convertInPlace),
		ops.ActionRevert:         effect(l.revertInPlace),
		ops.ActionNewIncarnation: l.beginIncarnation,
		ops.ActionOldIncarnation: l.returnToIncarnation,
		ops.ActionForgetPods:     effect(l.forgetPods),
		ops.ActionFence:          effect(l.fence),
		ops.ActionExamine:        l.examine,
		ops.ActionRecoverData:    l.recoverData,

		ops.ActionDeleteVolume:    effect(l.deleteVolumes),
		ops.ActionDeleteAll:       l.deleteAll,
		ops.ActionDeleteLeftovers: effect(l.deleteLeftovers),
		ops.ActionForget:          effect(l.forget),
	}
}

// effect is the performer of what leaves nothing but its effect.
func effect(do func(context.Context, task) error) performer {
	return func(ctx context.Context, t task) (ops.Result, error) { return ops.Result{}, do(ctx, t) }
}

// asking is the performer of what a session of the kind S does. A session of another kind is that of a dry run.
func asking[S any](l *Executor, do func(context.Context, S, task) (ops.Result, error)) performer {
	return func(ctx context.Context, t task) (ops.Result, error) {
		session, err := l.connect(ctx, t.Cluster)
		if err != nil {
			return ops.Result{}, err
		}
		able, ok := session.(S)
		if !ok {
			return ops.Result{}, engine.ErrReadOnly
		}
		return do(ctx, able, t)
	}
}

// done is the result of a step that leaves a fact once it succeeded.
func done(name string, err error) (ops.Result, error) {
	if err != nil {
		return ops.Result{}, err
	}
	return fact(name, "done")
}

// fact is the result of a step that leaves a fact.
func fact(name, value string) (ops.Result, error) {
	return ops.Result{Facts: map[string]string{name: value}}, nil
}
