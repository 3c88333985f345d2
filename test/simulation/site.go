package simulation

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// site is one cluster as one process sees it: the ops.Cluster of the simulation.
type site struct {
	actor   *actor
	cluster string
	// certificates are observed only where an operation is about them.
	certificates bool
	// schedule is observed where one is wanted, or where an operation is about it.
	schedule bool
}

var _ ops.ClosableCluster = (*site)(nil)

// Changed implements ops.Cluster; nothing ever wakes anybody.
func (s *site) Changed() <-chan struct{} { return nil }

// Close implements ops.ClosableCluster.
func (s *site) Close() error { return nil }

// Save implements ops.Cluster.
func (s *site) Save(ctx context.Context, op *v1alpha1.Operation) error {
	return ops.SaveRecord(ctx, recordStore{s.actor}, op)
}

// Observe implements ops.Cluster: object by object and member by member, while
// the world goes on.
func (s *site) Observe(ctx context.Context) (ops.State, error) {
	a := s.actor
	a.irreversible, a.looked = false, true
	a.observed, a.rivals = time.Now(), nil
	var st ops.State
	c, err := recordStore{a}.GetCluster(ctx, Namespace, s.cluster)
	switch {
	case err == nil:
		st.Cluster = c
	case !errors.Is(err, kube.ErrNotFound):
		return st, err
	}
	err = a.call(ctx, "list objects", func() error {
		st.Kube, st.Now = a.world.facts(s.cluster), a.world.now
		if s.certificates {
			st.Kube.Trust, st.Kube.Leaves = a.world.certificateFacts(s.cluster)
		}
		if s.schedule || st.Cluster != nil && st.Cluster.Spec.Backup.Schedule != "" {
			st.Kube.Schedule = a.world.scheduleFacts(s.cluster, s.schedule)
		}
		return nil
	})
	if err != nil || st.Cluster == nil {
		return st, err
	}
	st.View = s.view(ctx, st)
	a.quorum, a.rivals = st.View.Quorum, st.View.Rivals()
	return st, nil
}

// view asks the members that run, not all at the same moment.
func (s *site) view(ctx context.Context, st ops.State) engine.View {
	a, v := s.actor, engine.View{}
	token := st.Cluster.Status.Bootstrap.Token
	var running, silent []string
	for _, m := range st.Kube.Members {
		switch {
		case (!m.Workload.Exists || m.Workload.Token != token) && (!m.Volume.Exists || m.Volume.Token != token):
		case m.Pod.Running && !m.Pod.Terminating:
			running = append(running, m.Name)
		case m.Workload.Exists:
			silent = append(silent, m.Name)
		}
	}
	ask := func(f func()) {
		if a.rng.Float64() < 0.3 {
			_ = a.sleep(ctx, time.Duration(a.rng.Int64N(int64(1500*time.Millisecond))))
		}
		unlock := a.world.lock()
		f()
		unlock()
	}
	for _, name := range running {
		ask(func() {
			m := a.world.status(name)
			if s.certificates {
				m.Certificate = a.world.presented(name)
			}
			v.Members = append(v.Members, m)
			if m.ClusterID != "" && !slices.Contains(v.ClusterIDs, m.ClusterID) {
				v.ClusterIDs = append(v.ClusterIDs, m.ClusterID)
			}
		})
	}
	ask(func() { v.MemberList, v.Quorum = a.world.memberList(running) })
	ask(func() { v.Alarms = a.world.alarms(running) })
	ask(func() { v.Downgrade, v.DowngradeUnknown = a.world.underway(running) })
	for _, name := range silent {
		v.Members = append(v.Members, engine.Member{Name: name, Role: engine.RoleUnknown, Problem: "its pod does not run"})
	}
	return v
}
