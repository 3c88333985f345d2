package simulation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// Perform implements ops.Cluster, request by request as on a real cluster, so
// that a process may die between any two of them.
func (s *site) Perform(ctx context.Context, st ops.State, step ops.Step, _ func(bytes, total int64)) (ops.Result,
	error) {
	w, o := s.actor.world, s.actor.world.shared(s.cluster)
	switch step.Action {
	case ops.ActionCertificates:
		return ops.Result{}, s.do(ctx, "certificates", func() error {
			o.certificates = true
			w.issue(s.cluster, v1alpha1.AdminSecret(s.cluster))
			w.issue(s.cluster, v1alpha1.ClientSecret(s.cluster))
			return nil
		})
	case ops.ActionRenew, ops.ActionAddCA, ops.ActionTrust, ops.ActionPromoteCA, ops.ActionDropCA:
		return ops.Result{}, s.certify(ctx, st, step)
	case ops.ActionServices:
		return ops.Result{}, s.do(ctx, "services", func() error { o.services = true; return nil })
	case ops.ActionBudget:
		return ops.Result{}, s.do(ctx, "budget", func() error {
			o.budget = nil
			if b := step.Budget; b > 0 {
				o.budget = &b
			}
			return nil
		})
	case ops.ActionStart:
		return ops.Result{}, s.start(ctx, st, step.Members)
	case ops.ActionRecordFormed:
		return ops.Result{}, s.change(ctx,
			func(c *v1alpha1.DatabaseCluster) { c.Status.Bootstrap.ClusterID = st.View.ClusterIDs[0] })
	case ops.ActionDisableBootstrap:
		return ops.Result{}, s.disableBootstrap(ctx, step.Members)
	case ops.ActionRegister, ops.ActionPromote, ops.ActionDeregister, ops.ActionHandOver:
		return ops.Result{}, s.membership(ctx, st, step)
	case ops.ActionKeep:
		return ops.Result{}, s.change(ctx, func(c *v1alpha1.DatabaseCluster) {
			c.Status.Bootstrap.Remove(step.Members[0],
				false)
		})
	case ops.ActionRetire:
		if err := s.stop(ctx, st, step.Members); err != nil {
			return ops.Result{}, err
		}
		err := s.do(ctx, "delete certificate of "+step.Members[0],
			func() error { delete(o.leaves, v1alpha1.MemberSecret(step.Members[0])); return nil })
		if err != nil {
			return ops.Result{}, err
		}
		return ops.Result{}, s.deleteVolumes(ctx, st, step.Members)
	case ops.ActionPrepare:
		return s.prepare(ctx, st, step.Members)
	case ops.ActionUpgrade, ops.ActionDowngrade:
		return ops.Result{}, s.renew(ctx, st, step.Members[0],
			func(p observe.Pod) bool { return p.Version == st.Cluster.Spec.Version })
	case ops.ActionGrow:
		return ops.Result{}, s.grow(ctx, st, step.Members)
	case ops.ActionRoll:
		want := w.settings(st.Cluster)
		return ops.Result{}, s.renew(ctx, st, step.Members[0], func(p observe.Pod) bool { return p.Settings == want })
	case ops.ActionCompact:
		return s.compact(ctx, st, step)
	case ops.ActionDefragment:
		return s.defragment(ctx, step)
	case ops.ActionClearAlarms, ops.ActionProveWrite:
		return s.clearAlarms(ctx, st, step)
	case ops.ActionAnnounce, ops.ActionWithdraw:
		return s.descent(ctx, st, step)
	case ops.ActionRestart:
		uid := st.Operation.Spec.Pods[step.Members[0]]
		if st.Operation.Spec.Pods == nil {
			uid = st.Kube.Member(step.Members[0]).Pod.UID
		}
		return ops.Result{}, s.deletePod(ctx, step.Members[0], uid)
	case ops.ActionRevive:
		return ops.Result{}, s.deletePod(ctx, step.Members[0], st.Kube.Member(step.Members[0]).Pod.UID)
	case ops.ActionBackup:
		return s.backup(ctx, st, step)
	case ops.ActionVerify:
		return s.verify(ctx, st)
	case ops.ActionProveBackup:
		return ops.Result{Facts: map[string]string{v1alpha1.FactProven: st.Operation.Spec.Source.Backup}}, nil
	case ops.ActionPrune:
		return s.prune(ctx, st)
	case ops.ActionSchedule:
		return ops.Result{}, s.applySchedule(ctx, st)
	case ops.ActionUnschedule:
		return ops.Result{}, s.deleteSchedule(ctx)
	case ops.ActionLoad:
		return ops.Result{}, s.load(ctx, st, step.Members[0])
	case ops.ActionCredentials, ops.ActionEnsureUser, ops.ActionEnableAuth, ops.ActionDisableAuth, ops.ActionProveAuth,
		ops.ActionRotate, ops.ActionDropOld:
		return s.authenticate(ctx, st, step)
	case ops.ActionInitialSQL:
		return ops.Result{Facts: map[string]string{v1alpha1.FactInitialSQL: "done"}}, nil
	case ops.ActionExamine:
		return s.examine(ctx, step.Members)
	case ops.ActionRecoverData:
		return s.recoverData(ctx, st, step.Members[0])
	case ops.ActionStop, ops.ActionFence:
		return ops.Result{}, s.stop(ctx, st, step.Members)
	case ops.ActionNewIncarnation:
		return ops.Result{}, s.change(ctx, func(c *v1alpha1.DatabaseCluster) {
			ops.BeginIncarnation(c, st.Operation,
				freeName(st), "")
		})
	case ops.ActionOldIncarnation:
		return ops.Result{}, s.change(ctx, func(c *v1alpha1.DatabaseCluster) { ops.ReturnToIncarnation(c, st.Operation) })
	case ops.ActionDeleteVolume:
		return ops.Result{}, s.deleteVolumes(ctx, st, step.Members)
	case ops.ActionDeleteAll:
		return ops.Result{Facts: map[string]string{v1alpha1.FactObjectsDeleted: "true"}},
			s.do(ctx, "delete objects", func() error { *o = objects{}; return nil })
	case ops.ActionForget:
		err := recordStore{s.actor}.DeleteCluster(ctx, st.Cluster)
		if errors.Is(err, kube.ErrNotFound) {
			return ops.Result{}, nil
		}
		return ops.Result{}, err
	}
	w.violate("no way to perform %q", step.Action)
	return ops.Result{}, fmt.Errorf("no way to perform %q", step.Action)
}

// do is one request that changes something; what must never follow is checked around it.
func (s *site) do(ctx context.Context, what string, effect func() error) error {
	return s.actor.call(ctx, what, func() error { return s.actor.world.watched(s.actor, s.cluster, effect) })
}

// change writes to the cluster's object, on a fresh copy.
func (s *site) change(ctx context.Context, set func(*v1alpha1.DatabaseCluster)) error {
	c, err := recordStore{s.actor}.GetCluster(ctx, Namespace, s.cluster)
	if err != nil {
		return err
	}
	set(c)
	return recordStore{s.actor}.UpdateCluster(ctx, c)
}

// start makes volumes and workloads.
func (s *site) start(ctx context.Context, st ops.State, members []string) error {
	for _, m := range members {
		err := s.do(ctx, "certificate of "+m, func() error {
			s.actor.world.issue(s.cluster,
				v1alpha1.MemberSecret(m))
			return nil
		})
		if err != nil {
			return err
		}
		if err := s.makeVolume(ctx, st, m); err != nil {
			return err
		}
		if err := s.applyWorkload(ctx, st, m); err != nil {
			return err
		}
	}
	return nil
}

func (s *site) makeVolume(ctx context.Context, st ops.State, member string) error {
	w := s.actor.world
	return s.do(ctx, "create volume of "+member, func() error {
		slot := w.slot(s.cluster, member)
		if slot.volume != nil {
			return nil
		}
		size := st.Cluster.Spec.Storage.Size
		slot.volume = &volume{size: size, capacity: size, token: st.Cluster.Status.Bootstrap.Token,
			boundAt: w.now.Add(w.between(0, 4*time.Second))}
		return nil
	})
}

func (s *site) applyWorkload(ctx context.Context, st ops.State, member string) error {
	w, c := s.actor.world, st.Cluster
	f := c.Status.Bootstrap
	l := memberWorkload{token: f.Token, version: c.Spec.Version, settings: w.settings(c), unfit: unfit(c),
		peers: st.Peers(member), bootstrap: f.ClusterID == "" && c.Spec.RestoreFrom == nil,
		witness: slices.Contains(f.Witnesses, member), limit: ops.JoinLimit(w.engine, st, member)}
	if w.mischief.BootstrapJoiners && f.ClusterID != "" {
		l.bootstrap, l.peers = true, []string{member}
	}
	return s.do(ctx, "apply workload of "+member, func() error {
		slot := w.slot(s.cluster, member)
		if slot.workload != nil && slot.workload.deleting {
			return fmt.Errorf("workload %s is being deleted: %w", member, engine.ErrNotReady)
		}
		l.seenAt = w.now.Add(w.between(0, time.Second))
		if have := slot.workload; have != nil && have.version == l.version && have.settings == l.settings &&
			have.bootstrap == l.bootstrap && have.token == l.token && have.limit == l.limit {
			l.seenAt = have.seenAt
		}
		slot.workload = &l
		return nil
	})
}

func (s *site) disableBootstrap(ctx context.Context, members []string) error {
	for _, m := range members {
		err := s.do(ctx, "seal "+m, func() error {
			if l := s.actor.world.slot(s.cluster, m).workload; l != nil {
				l.bootstrap = false
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *site) membership(ctx context.Context, st ops.State, step ops.Step) error {
	w, token, name := s.actor.world, st.Cluster.Status.Bootstrap.Token, ""
	if len(step.Members) > 0 {
		name = step.Members[0]
	}
	if started := step.Action == ops.ActionDeregister; started || step.Action == ops.ActionRegister {
		note := func(f *v1alpha1.Bootstrap) bool {
			removed := f.Remove(name, started)
			return !started && f.SetWitness(name, step.Witness) || removed
		}
		if f := st.Bootstrap(); note(&f) {
			if err := s.change(ctx, func(c *v1alpha1.DatabaseCluster) { note(c.Status.Bootstrap) }); err != nil {
				return err
			}
		}
	}
	return s.do(ctx, step.ID, func() error {
		switch step.Action {
		case ops.ActionRegister:
			return w.register(s.cluster, token, name, false, step.Witness)
		case ops.ActionPromote:
			return w.promote(s.cluster, token, name)
		case ops.ActionDeregister:
			return w.deregister(s.cluster, token, name)
		default:
			return w.handOver(s.cluster, token, step.To)
		}
	})
}

// freeName is the initial member of a new incarnation.
func freeName(st ops.State) string {
	for n := 1; ; n++ {
		name := v1alpha1.MemberName(st.Cluster.Name, n)
		m := st.Kube.Member(name)
		if _, registered := st.View.Registered(name); !registered && !m.Volume.Exists && !m.Workload.Exists &&
			!m.Pod.Exists {
			return name
		}
	}
}
