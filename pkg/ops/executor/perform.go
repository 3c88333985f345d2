package executor

import (
	"context"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/helperpod"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// Perform implements World. Each case is idempotent by itself; what has to
// come to rest (a pod that stops, a volume that goes) answers ErrNotReady and
// is asked again after the next observation. Under a dry run the client and
// the session refuse or rehearse what would change; only what moves data is
// refused here, because repositories know no dry run.
func (l *Executor) Perform(ctx context.Context, s ops.State, step ops.Step,
	report func(bytes, total int64)) (ops.Result, error) {
	if l.ReadOnly && (step.Streams() || step.Action == ops.ActionPrune) {
		return ops.Result{}, engine.ErrReadOnly
	}
	switch step.Action {
	case ops.ActionCertificates:
		return ops.Result{}, issuing(s.Cluster, pki.EnsureCertificates(ctx, l.Client, s.Cluster))
	case ops.ActionServices:
		return ops.Result{}, workload.ApplyServices(ctx, l.Client, s.Cluster, l.Engine.Ports(s.Cluster))
	case ops.ActionBudget:
		return ops.Result{}, workload.ApplyBudget(ctx, l.Client, s.Cluster, step.Budget)
	case ops.ActionStart:
		return ops.Result{}, l.start(ctx, s, step.Members)
	case ops.ActionRecordFormed:
		return ops.Result{}, l.recordFormed(ctx, s)
	case ops.ActionDisableBootstrap:
		return ops.Result{}, l.disableBootstrap(ctx, s, step.Members)
	case ops.ActionRegister, ops.ActionPromote, ops.ActionDeregister, ops.ActionHandOver,
		ops.ActionFailOver:
		return ops.Result{}, l.membership(ctx, s, step)
	case ops.ActionKeep:
		return ops.Result{}, l.note(ctx, func(f *v1alpha1.Bootstrap) bool { return f.Remove(step.Member(), false) })
	case ops.ActionRetire:
		return ops.Result{}, l.retire(ctx, s, step.Member())
	case ops.ActionDefragment:
		return l.defragment(ctx, s, step.Member())
	case ops.ActionCompact:
		return l.compact(ctx, s, step.Members)
	case ops.ActionCompare, ops.ActionClearAlarms, ops.ActionProveWrite:
		return l.clearAlarms(ctx, s, step)
	case ops.ActionAnnounce, ops.ActionWithdraw:
		return l.descent(ctx, s, step.Action)
	case ops.ActionPrepare:
		return l.prepare(ctx, s, step.Members)
	case ops.ActionRestart:
		return ops.Result{}, l.restart(ctx, s, step.Member())
	case ops.ActionRevive:
		return ops.Result{}, l.renewPod(ctx, s, step.Member(), s.Kube.Member(step.Member()).Pod.UID)
	case ops.ActionRepair:
		return ops.Result{}, l.repair(ctx, s, step.Touches[0], step.Member())
	case ops.ActionRenew:
		return ops.Result{}, l.renewLeaf(ctx, s, step)
	case ops.ActionAddCA, ops.ActionTrust, ops.ActionPromoteCA, ops.ActionDropCA:
		return ops.Result{}, l.authority(ctx, s, step.Action)
	case ops.ActionUpgrade, ops.ActionDowngrade:
		return ops.Result{}, l.renew(ctx, s, step.Member(),
			func(p observe.Pod) bool { return p.Version == s.Cluster.Spec.Version })
	case ops.ActionCorrect:
		return ops.Result{}, l.renew(ctx, s, step.Member(), func(p observe.Pod) bool { return p.Rendering == s.Rendering })
	case ops.ActionGrow:
		return ops.Result{}, l.grow(ctx, s, step.Members)
	case ops.ActionConfigure:
		return ops.Result{}, l.configure(ctx, s)
	case ops.ActionRoll:
		want := rules.Settings(s, l.Engine)
		return ops.Result{}, l.renew(ctx, s, step.Member(), func(p observe.Pod) bool {
			return p.Settings == want && len(s.View.Member(step.Member()).Pending) == 0
		})
	case ops.ActionBackup:
		return l.backup(ctx, s, step, report)
	case ops.ActionVerify:
		return l.verify(ctx, s, step, report)
	case ops.ActionStopBackup:
		return l.stopBackup(ctx, s)
	case ops.ActionProveBackup:
		return l.prove(ctx, s, report)
	case ops.ActionPrune:
		return l.prune(ctx, s)
	case ops.ActionSchedule:
		return ops.Result{}, l.schedule(ctx, s)
	case ops.ActionUnschedule:
		return ops.Result{}, workload.DeleteSchedule(ctx, l.Client, s.Cluster)
	case ops.ActionArchive:
		return ops.Result{}, l.archiveLog(ctx, s)
	case ops.ActionUnarchive:
		return ops.Result{}, helperpod.DeleteKeeper(ctx, l.Client, s.Cluster, v1alpha1.Archive(s.Cluster.Name))
	case ops.ActionLoad:
		return ops.Result{}, l.load(ctx, s, step.Member(), report)
	case ops.ActionCredentials, ops.ActionEnsureUser, ops.ActionDeleteUser, ops.ActionRotate, ops.ActionDropOld,
		ops.ActionEnableAuth, ops.ActionDisableAuth, ops.ActionProveAuth:
		return l.authenticate(ctx, s, step)
	case ops.ActionForgetPods:
		return ops.Result{}, l.forgetPods(ctx, s, step.Members)
	case ops.ActionFence:
		return ops.Result{}, l.fence(ctx, s, step.Members)
	case ops.ActionExamine:
		return l.examine(ctx, s, step.Member())
	case ops.ActionRecoverData:
		return l.recoverData(ctx, s, step.Member(), report)
	case ops.ActionStop:
		return ops.Result{}, l.stop(ctx, s, step.Members)
	case ops.ActionNewIncarnation:
		return ops.Result{Facts: operation.KeptVolumes(s)}, l.change(ctx, func(c *v1alpha1.DatabaseCluster) {
			// A lost answer must not count two incarnations for one restore.
			if !ops.IncarnationStartedBy(s.Operation, c.Status.Bootstrap.Token) {
				ops.BeginIncarnation(c, s.Operation, s.FreeName())
			}
		})
	case ops.ActionOldIncarnation:
		return ops.Result{}, l.returnToIncarnation(ctx, s)
	case ops.ActionDeleteVolume:
		return ops.Result{}, l.deleteVolumes(ctx, s, step.Members)
	case ops.ActionDeleteAll:
		return ops.Result{Facts: map[string]string{v1alpha1.FactObjectsDeleted: "true"}},
			workload.DeleteClusterObjects(ctx, l.Client, s.Cluster)
	case ops.ActionWriteRecord:
		return ops.Result{}, nil // it is written before the operation is
	case ops.ActionRestoreCA:
		return ops.Result{}, issuing(s.Cluster, pki.RestoreAuthority(ctx, l.Client, s.Cluster, s.Operation.Spec.Authority))
	case ops.ActionDeleteLeftovers:
		return ops.Result{}, workload.DeleteLeftovers(ctx, l.Client, s.Cluster)
	case ops.ActionForget:
		return ops.Result{}, ops.IgnoreNotFound(l.Store.DeleteCluster(ctx, s.Cluster))
	}
	return ops.Result{}, fmt.Errorf("no way to perform %q", step.Action)
}

// membership hands a change of the member list to the engine.
func (l *Executor) membership(ctx context.Context, s ops.State, step ops.Step) error {
	session, err := l.connect(ctx, s.Cluster)
	if err != nil {
		return err
	}
	switch step.Action {
	case ops.ActionRegister:
		return l.register(ctx, session, step)
	case ops.ActionPromote:
		return session.Promote(ctx, step.Member())
	case ops.ActionDeregister:
		// By its identity: a successor of that name may be in the list by now.
		entry, registered := s.View.Registered(step.Member())
		if !registered {
			return nil
		}
		if err := l.note(ctx, func(f *v1alpha1.Bootstrap) bool { return f.Remove(entry.Name, true) }); err != nil {
			return err
		}
		return session.Deregister(ctx, entry.Name, entry.ID)
	case ops.ActionFailOver:
		f, ok := session.(engine.Failoverer)
		if !ok {
			return fmt.Errorf("%s can't have a member lead that its members don't choose: %w", l.Engine.Name(),
				engine.ErrRefused)
		}
		return f.Failover(ctx, step.To)
	default:
		return session.HandOver(ctx, step.To)
	}
}

// change writes to the cluster's object what the closure sets, on a fresh copy.
func (l *Executor) change(ctx context.Context, set func(*v1alpha1.DatabaseCluster)) error {
	c, err := l.Store.GetCluster(ctx, l.Namespace, l.Name)
	if err != nil {
		return err
	}
	set(c)
	return l.Store.UpdateCluster(ctx, c)
}

// register writes down what the member is to be, and that a predecessor's
// removal is over, before the database hears of it.
func (l *Executor) register(ctx context.Context, session engine.Session, step ops.Step) error {
	err := l.note(ctx, func(f *v1alpha1.Bootstrap) bool {
		removed, other := f.Remove(step.Member(), false), f.SetWitness(step.Member(), step.Witness)
		return removed || other
	})
	if err != nil {
		return err
	}
	if !step.Witness {
		return session.Register(ctx, step.Member())
	}
	w, ok := session.(engine.WitnessRegistrar)
	if !ok {
		return fmt.Errorf("register witness %s: %s knows no witnesses", step.Member(), l.Engine.Name())
	}
	return w.RegisterWitness(ctx, step.Member())
}

// note writes what the closure changes into what is recorded of the members.
func (l *Executor) note(ctx context.Context, set func(*v1alpha1.Bootstrap) bool) error {
	c, err := l.Store.GetCluster(ctx, l.Namespace, l.Name)
	if err != nil {
		return err
	}
	if !set(c.Status.Bootstrap) {
		return nil
	}
	if err := l.Store.UpdateCluster(ctx, c); err != nil {
		return fmt.Errorf("write down what becomes of the members of %s: %w", l.Name, err)
	}
	return nil
}

// notGone is the answer while something that was told to go is still there.
func notGone(what string) error { return fmt.Errorf("%s is still going: %w", what, engine.ErrNotReady) }
