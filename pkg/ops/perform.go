package ops

import (
	"context"
	"errors"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// Perform implements World. Each case is idempotent by itself; what has to
// come to rest (a pod that stops, a volume that goes) answers ErrNotReady and
// is asked again after the next observation. Under a dry run the client and
// the session refuse or rehearse what would change; only what moves data is
// turned down here, because repositories know no dry run.
func (l *Live) Perform(ctx context.Context, s State, step Step, report func(bytes, total int64)) (Result, error) {
	if l.ReadOnly && (step.streams() || step.Action == ActionPrune) {
		return Result{}, engine.ErrReadOnly
	}
	switch step.Action {
	case ActionCertificates:
		return Result{}, issuing(s.Cluster, l.Client.EnsureCertificates(ctx, s.Cluster))
	case ActionServices:
		return Result{}, l.Client.ApplyServices(ctx, s.Cluster, l.Engine.Ports(s.Cluster))
	case ActionBudget:
		return Result{}, l.Client.ApplyBudget(ctx, s.Cluster, step.Budget)
	case ActionStart:
		return Result{}, l.start(ctx, s, step.Members)
	case ActionRecordFormed:
		return Result{}, l.recordFormed(ctx, s)
	case ActionSeal:
		return Result{}, l.seal(ctx, s, step.Members)
	case ActionRegister, ActionPromote, ActionDeregister, ActionHandOver:
		return Result{}, l.membership(ctx, s, step)
	case ActionRetire:
		return Result{}, l.retire(ctx, s, step.member())
	case ActionDefragment:
		return l.defragment(ctx, s, step.member())
	case ActionCompact:
		return l.compact(ctx, s, step.Members)
	case ActionCompare, ActionDisarm, ActionProveWrite:
		return l.clearAlarms(ctx, s, step)
	case ActionAnnounce, ActionWithdraw:
		return l.descent(ctx, s, step.Action)
	case ActionPrepare:
		return l.prepare(ctx, s, step.Members)
	case ActionRestart:
		return Result{}, l.restart(ctx, s, step.member())
	case ActionRevive:
		return Result{}, l.renewPod(ctx, s, step.member(), s.Kube.Member(step.member()).Pod.UID)
	case ActionRepair:
		return Result{}, l.repair(ctx, s, step.Touches[0], step.member())
	case ActionRenew:
		return Result{}, l.renewLeaf(ctx, s, step)
	case ActionAddCA, ActionTrust, ActionPromoteCA, ActionDropCA:
		return Result{}, l.authority(ctx, s, step.Action)
	case ActionUpgrade, ActionDowngrade:
		return Result{}, l.renew(ctx, s, step.member(), func(p kube.Pod) bool { return p.Version == s.Cluster.Spec.Version })
	case ActionCorrect:
		return Result{}, l.renew(ctx, s, step.member(), func(p kube.Pod) bool { return p.Rendering == s.Rendering })
	case ActionGrow:
		return Result{}, l.grow(ctx, s, step.Members)
	case ActionRoll:
		want := s.settings(l.Engine)
		return Result{}, l.renew(ctx, s, step.member(), func(p kube.Pod) bool { return p.Settings == want })
	case ActionBackup:
		return l.backup(ctx, s, step, report)
	case ActionVerify:
		return l.verify(ctx, s, step, report)
	case ActionPrune:
		return l.prune(ctx, s)
	case ActionSchedule:
		return Result{}, l.schedule(ctx, s)
	case ActionUnschedule:
		return Result{}, l.Client.DeleteSchedule(ctx, s.Cluster)
	case ActionLoad:
		return Result{}, l.load(ctx, s, step.member(), report)
	case ActionCredentials, ActionEnsureUser, ActionDeleteUser, ActionRotate, ActionDropOld, ActionEnableAuth, ActionDisableAuth, ActionProveAuth:
		return l.authenticate(ctx, s, step)
	case ActionForgetPods:
		return Result{}, l.forgetPods(ctx, s, step.Members)
	case ActionFence:
		return Result{}, l.fence(ctx, s, step.Members)
	case ActionExamine:
		return l.examine(ctx, s, step.member())
	case ActionSalvage:
		return l.salvage(ctx, s, step.member(), report)
	case ActionStop:
		return Result{}, l.stop(ctx, s, step.Members)
	case ActionNewEpoch:
		return Result{Facts: keptVolumes(s)}, l.change(ctx, func(c *v1alpha1.DatabaseCluster) {
			// A lost answer must not count two epochs for one restore.
			if c.Status.Formation.Token != EpochToken(s.Operation) {
				BeginEpoch(c, s.Operation, s.freeName())
			}
		})
	case ActionOldEpoch:
		return Result{}, l.returnToEpoch(ctx, s)
	case ActionDeleteVolume:
		return Result{}, l.deleteVolumes(ctx, s, step.Members)
	case ActionDeleteAll:
		return Result{Facts: map[string]string{v1alpha1.FactObjectsDeleted: "true"}}, l.Client.DeleteClusterObjects(ctx, s.Cluster)
	case ActionWriteRecord:
		return Result{}, nil // it is written before the operation is
	case ActionRestoreCA:
		return Result{}, issuing(s.Cluster, l.Client.RestoreAuthority(ctx, s.Cluster, s.Operation.Spec.Authority))
	case ActionDeleteRemains:
		return Result{}, l.Client.DeleteRemains(ctx, s.Cluster)
	case ActionForget:
		return Result{}, ignoreNotFound(l.Store.DeleteCluster(ctx, s.Cluster))
	}
	return Result{}, fmt.Errorf("no way to perform %q", step.Action)
}

// membership hands a change of the member list to the engine.
func (l *Live) membership(ctx context.Context, s State, step Step) error {
	session, err := l.connect(ctx, s.Cluster)
	if err != nil {
		return err
	}
	switch step.Action {
	case ActionRegister:
		return session.Register(ctx, step.member())
	case ActionPromote:
		return session.Promote(ctx, step.member())
	case ActionDeregister:
		// By its identity: a successor of that name may be in the list by now.
		entry, registered := s.View.Registered(step.member())
		if !registered {
			return nil
		}
		return session.Deregister(ctx, entry.Name, entry.ID)
	default:
		return session.HandOver(ctx, step.To)
	}
}

// change writes to the cluster's object what the closure sets, on a fresh copy.
func (l *Live) change(ctx context.Context, set func(*v1alpha1.DatabaseCluster)) error {
	c, err := l.Store.GetCluster(ctx, l.Namespace, l.Name)
	if err != nil {
		return err
	}
	set(c)
	return l.Store.UpdateCluster(ctx, c)
}

// notGone is the answer while something that was told to go is still there.
func notGone(what string) error { return fmt.Errorf("%s is still going: %w", what, engine.ErrNotReady) }

func ignoreNotFound(err error) error {
	if errors.Is(err, kube.ErrNotFound) {
		return nil
	}
	return err
}
