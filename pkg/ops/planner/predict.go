package planner

import (
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation/etcd"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// Predict returns the state that a step leads to if all goes well. It is the
// other half of a plan: Decide on the prediction gives the next step. It
// shares nothing with s.
func Predict(e engine.Engine, s ops.State, step ops.Step) ops.State {
	n := Clone(s)
	if n.Operation != nil {
		n.Operation.Status.Journal = append(n.Operation.Status.Journal, v1alpha1.JournalEntry{Step: step.ID})
	}
	switch step.Action {
	case ops.ActionServices, ops.ActionRenew, ops.ActionRestoreCA, ops.ActionStart:
		n.Kube.Differences = slices.DeleteFunc(slices.Clone(n.Kube.Differences),
			func(d drift.Difference) bool { return slices.Contains(step.Touches, d.Object) })
	}
	switch step.Action {
	case ops.ActionCertificates:
		n.Kube.Certificates = true
	case ops.ActionServices:
		n.Kube.Services = true
	case ops.ActionBudget:
		n.Kube.Budget = nil
		if step.Budget > 0 {
			n.Kube.Budget = &step.Budget
		}
	case ops.ActionLoad:
		n.Cluster.Status.Bootstrap.Loaded = true
		AddMember(&n, step.Member(), false)
		n.Kube.Members[n.MemberIndex(step.Member())].Workload = observe.Workload{}
	case ops.ActionStart:
		for _, m := range step.Members {
			limit := ops.JoinLimit(e, n, m)
			AddMember(&n, m, n.Founds(e))
			w := &n.Kube.Members[n.MemberIndex(m)].Workload
			w.Settings, w.JoinLimit = rules.Settings(n, e), limit
		}
	case ops.ActionCorrect:
		corrected(&n, step.Member(), rules.Settings(n, e))
	case ops.ActionConfigure:
		configured(&n, e)
	case ops.ActionRecordFormed:
		n.Cluster.Status.Bootstrap.ClusterID = n.View.ClusterIDs[0]
	case ops.ActionDisableBootstrap:
		for i := range n.Kube.Members {
			n.Kube.Members[i].Workload.Bootstrap = false
		}
	case ops.ActionRegister:
		n.View.MemberList = append(n.View.MemberList, engine.Registered{ID: predictedID(n, step.Member()),
			Name: step.Member(), Witness: step.Witness})
		n.Cluster.Status.Bootstrap.Remove(step.Member(), false)
		n.Cluster.Status.Bootstrap.SetWitness(step.Member(), step.Witness)
	case ops.ActionPromote:
		setVoter(e, &n, step.Member())
	case ops.ActionDeregister:
		n.Cluster.Status.Bootstrap.Remove(step.Member(), true)
		dropRegistered(&n, step.Member())
		if e.Capabilities().NamesOnce {
			n.View.Retired = append(slices.Clone(n.View.Retired), step.Member())
		}
	case ops.ActionKeep:
		n.Cluster.Status.Bootstrap.Remove(step.Member(), false)
	case ops.ActionHandOver:
		n.Lead(step.To)
	case ops.ActionFailOver:
		n.View.Candidates = nil
		n.Lead(step.To)
	case ops.ActionRetire, ops.ActionDeleteVolume:
		for _, m := range step.Members {
			DropMember(&n, m)
		}
	case ops.ActionUpgrade, ops.ActionDowngrade:
		upgraded(&n, step.Member(), rules.Settings(n, e))
	case ops.ActionGrow:
		for _, m := range step.Members {
			n.Kube.Members[n.MemberIndex(m)].Volume.Size = n.Cluster.Spec.Storage.Size.DeepCopy()
		}
	case ops.ActionRoll:
		rolled(&n, step.Member(), rules.Settings(n, e))
	case ops.ActionAnnounce:
		n.View.Downgrade = n.Cluster.Spec.Version
	case ops.ActionWithdraw:
		n.View.Downgrade = ""
		unsetFact(&n, v1alpha1.FactPrepared)
	case ops.ActionRestart:
		n.Kube.Members[n.MemberIndex(step.Member())].Pod.UID = "predicted"
		n.Reloaded(step.Member())
	case ops.ActionRevive:
		n.Kube.Members[n.MemberIndex(step.Member())].Pod = observe.Pod{Exists: true, UID: "predicted"}
	case ops.ActionRepair:
		repaired(&n, e, step)
	case ops.ActionRenew:
		renewed(&n, step)
	case ops.ActionAddCA, ops.ActionTrust, ops.ActionPromoteCA, ops.ActionDropCA:
		authorities(&n, step.Action)
	case ops.ActionDefragment:
		n.SetFact(etcd.FactDefragmented(step.Member()))
		freed(&n, step.Member())
	case ops.ActionCompact:
		n.SetFact(v1alpha1.FactCompacted)
		forgot(&n)
	case ops.ActionCompare:
		n.SetFact(v1alpha1.FactCompared)
	case ops.ActionClearAlarms:
		cleared(&n, step.Alarm)
	case ops.ActionProveWrite:
		n.SetFact(v1alpha1.FactWritten)
	case ops.ActionPrepare:
		n.SetFact(v1alpha1.FactPrepared)
	case ops.ActionCredentials:
		n.SetFact(v1alpha1.FactCredentials)
	case ops.ActionEnsureUser:
		n.SetFact(rules.FactUser(step.User))
	case ops.ActionDeleteUser:
		n.SetFact(rules.FactDeleted(step.User))
	case ops.ActionRotate, ops.ActionDropOld:
		n.SetFact(rules.FactRotated(step.User))
	case ops.ActionEnableAuth:
		n.SetAuth(engine.AuthOn)
	case ops.ActionDisableAuth:
		n.SetAuth(engine.AuthOff)
	case ops.ActionProveAuth:
		n.SetFact(v1alpha1.FactProved)
	case ops.ActionBackup:
		n.SetFact(v1alpha1.FactBackup)
	case ops.ActionVerify:
		n.SetFact(v1alpha1.FactVerified)
	case ops.ActionPrune:
		n.SetFact(v1alpha1.FactPruned)
	case ops.ActionStopBackup:
		n.SetFact(v1alpha1.FactStopped)
	case ops.ActionProveBackup:
		n.SetFact(v1alpha1.FactProven)
	case ops.ActionArchive, ops.ActionUnarchive:
		archived(For(e, n), &n, step)
	case ops.ActionSchedule, ops.ActionUnschedule:
		rescheduled(For(e, n), &n)
	case ops.ActionStop, ops.ActionFence:
		stopped(&n, step.Members)
	case ops.ActionForgetPods:
		for _, m := range step.Members {
			n.Kube.Members[n.MemberIndex(m)].Pod = observe.Pod{}
		}
	case ops.ActionExamine:
		n.SetFact(v1alpha1.FactExamined(step.Member()))
	case ops.ActionRecoverData:
		n.SetFact(v1alpha1.FactBackup)
	case ops.ActionNewIncarnation:
		newIncarnation(&n)
	case ops.ActionOldIncarnation:
		ops.ReturnToIncarnation(n.Cluster, n.Operation)
	case ops.ActionDeleteAll:
		n.Kube.Services, n.Kube.Certificates, n.Kube.Budget = false, false, nil
		n.SetFact(v1alpha1.FactObjectsDeleted)
	case ops.ActionWriteRecord:
		n.Cluster.ResourceVersion = "predicted"
	case ops.ActionRestoreCA:
		restoredAuthority(&n)
	case ops.ActionDeleteLeftovers:
		n.Kube.Leftovers = nil
	case ops.ActionForget:
		n.Cluster = nil
	case ops.ActionWait:
		if !e.Capabilities().Learners {
			becomeWhole(&n)
		}
		settle(e, &n)
	}
	return n
}

// predictedID is an identity that no registered member has or had: a member
// that joins again under its old name is another one.
func predictedID(s ops.State, member string) string {
	id := "predicted-" + member
	if s.Operation != nil && s.Operation.Spec.MemberID == id {
		id += "-again"
	}
	return id
}

// Clone copies all that Predict changes.
func Clone(s ops.State) ops.State {
	s.Cluster = s.Cluster.DeepCopy()
	s.Operation = s.Operation.DeepCopy()
	s.Kube.Members = slices.Clone(s.Kube.Members)
	s.Kube.Leaves = slices.Clone(s.Kube.Leaves)
	s.Kube.Schedule = s.Kube.Schedule.Clone()
	s.View.Members = slices.Clone(s.View.Members)
	s.View.MemberList = slices.Clone(s.View.MemberList)
	s.View.ClusterIDs = slices.Clone(s.View.ClusterIDs)
	return s
}

// AddMember predicts the objects of a member that was started.
func AddMember(s *ops.State, name string, bootstrap bool) {
	token, version := s.Bootstrap().Token, s.Cluster.Spec.Version
	m := &s.Kube.Members[s.MemberIndex(name)]
	m.Volume = observe.Volume{Exists: true, Bound: true, Token: token}
	m.Workload = observe.Workload{Exists: true, Bootstrap: bootstrap, Version: version, Token: token}
	m.Pod = observe.Pod{}
}

// DropMember predicts that all of a member is gone.
func DropMember(s *ops.State, name string) {
	s.Kube.Members = slices.DeleteFunc(s.Kube.Members, func(m observe.Member) bool { return m.Name == name })
	s.View.Members = slices.DeleteFunc(s.View.Members, func(m engine.Member) bool { return m.Name == name })
}

func setVoter(e engine.Engine, s *ops.State, name string) {
	for i := range s.View.MemberList {
		if s.View.MemberList[i].Name == name {
			s.View.MemberList[i].Voter = true
		}
	}
	settle(e, s)
}

// becomeWhole predicts that a member that joins without being promoted has joined.
func becomeWhole(s *ops.State) {
	for i := range s.View.MemberList {
		if r := &s.View.MemberList[i]; s.Kube.Member(r.Name).Workload.Exists && !r.Spare {
			r.Voter = true
		}
	}
}

func dropRegistered(s *ops.State, name string) {
	s.View.MemberList = slices.DeleteFunc(s.View.MemberList, func(r engine.Registered) bool { return r.Name == name })
	s.View.Members = slices.DeleteFunc(s.View.Members, func(m engine.Member) bool { return m.Name == name })
}

func upgraded(s *ops.State, name string, settings string) {
	m := &s.Kube.Members[s.MemberIndex(name)]
	m.Workload.Version = s.Cluster.Spec.Version
	m.Pod.Version = s.Cluster.Spec.Version
	rolled(s, name, settings)
	for i := range s.View.Members {
		if s.View.Members[i].Name == name {
			s.View.Members[i].Version = s.Cluster.Spec.Version
		}
	}
}

func rolled(s *ops.State, name, settings string) {
	m := &s.Kube.Members[s.MemberIndex(name)]
	m.Workload.Settings, m.Pod.Settings = settings, settings
	m.Pod.Exists, m.Pod.Problem = true, nil
}

func stopped(s *ops.State, names []string) {
	for _, name := range names {
		m := &s.Kube.Members[s.MemberIndex(name)]
		m.Workload, m.Pod = observe.Workload{}, observe.Pod{}
	}
	s.View = engine.View{}
}

func unsetFact(s *ops.State, name string) { delete(s.Operation.Status.Facts, name) }

func newIncarnation(s *ops.State) {
	ops.BeginIncarnation(s.Cluster, s.Operation, s.FreeName())
}
