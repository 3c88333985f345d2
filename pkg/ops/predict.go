package ops

import (
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// Predict returns the state that a step leads to if all goes well. It is the
// other half of a plan: Decide on the prediction gives the next step. It
// shares nothing with s.
func Predict(e engine.Engine, s State, step Step) State {
	n := s.clone()
	if n.Operation != nil {
		n.Operation.Status.Journal = append(n.Operation.Status.Journal, v1alpha1.JournalEntry{Step: step.ID})
	}
	switch step.Action {
	case ActionServices, ActionRenew, ActionRestoreCA, ActionStart:
		n.Kube.Differences = slices.DeleteFunc(slices.Clone(n.Kube.Differences), func(d kube.Difference) bool { return slices.Contains(step.Touches, d.Object) })
	}
	switch step.Action {
	case ActionCertificates:
		n.Kube.Certificates = true
	case ActionServices:
		n.Kube.Services = true
	case ActionBudget:
		n.Kube.Budget = nil
		if step.Budget > 0 {
			n.Kube.Budget = &step.Budget
		}
	case ActionLoad:
		n.Cluster.Status.Formation.Loaded = true
		n.addMember(step.member(), false)
		n.Kube.Members[n.memberIndex(step.member())].Workload = kube.Workload{}
	case ActionStart:
		for _, m := range step.Members {
			n.addMember(m, !n.formed() && n.Cluster.Spec.RestoreFrom == nil)
			n.Kube.Members[n.memberIndex(m)].Workload.Settings = n.settings(e)
		}
	case ActionCorrect:
		n.corrected(step.member(), n.settings(e))
	case ActionRecordFormed:
		n.Cluster.Status.Formation.ClusterID = n.View.ClusterIDs[0]
	case ActionSeal:
		for i := range n.Kube.Members {
			n.Kube.Members[i].Workload.Bootstrap = false
		}
	case ActionRegister:
		n.View.Roster = append(n.View.Roster, engine.Registered{ID: n.predictedID(step.member()), Name: step.member(), Voter: !e.Capabilities().Learners})
	case ActionPromote:
		n.setVoter(step.member())
	case ActionDeregister:
		n.dropRegistered(step.member())
	case ActionHandOver:
		n.lead(step.To)
	case ActionRetire, ActionDeleteVolume:
		for _, m := range step.Members {
			n.dropMember(m)
		}
	case ActionUpgrade, ActionDowngrade:
		n.upgraded(step.member(), n.settings(e))
	case ActionGrow:
		for _, m := range step.Members {
			n.Kube.Members[n.memberIndex(m)].Volume.Size = n.Cluster.Spec.Storage.Size.DeepCopy()
		}
	case ActionRoll:
		n.rolled(step.member(), n.settings(e))
	case ActionAnnounce:
		n.View.Downgrade = n.Cluster.Spec.Version
	case ActionWithdraw:
		n.View.Downgrade = ""
		n.unsetFact(v1alpha1.FactPrepared)
	case ActionRestart:
		n.Kube.Members[n.memberIndex(step.member())].Pod.UID = "predicted"
		n.reloaded(step.member())
	case ActionRevive:
		n.Kube.Members[n.memberIndex(step.member())].Pod = kube.Pod{Exists: true, UID: "predicted"}
	case ActionRepair:
		n.repaired(step)
	case ActionRenew:
		n.renewed(step)
	case ActionAddCA, ActionTrust, ActionPromoteCA, ActionDropCA:
		n.authorities(step.Action)
	case ActionDefragment:
		n.setFact(factDefragmented(step.member()))
		n.freed(step.member())
	case ActionCompact:
		n.setFact(v1alpha1.FactCompacted)
		n.forgot()
	case ActionCompare:
		n.setFact(v1alpha1.FactCompared)
	case ActionDisarm:
		n.disarmed(step.Alarm)
	case ActionProveWrite:
		n.setFact(v1alpha1.FactWritten)
	case ActionPrepare:
		n.setFact(v1alpha1.FactPrepared)
	case ActionCredentials:
		n.setFact(v1alpha1.FactCredentials)
	case ActionEnsureUser:
		n.setFact(factUser(step.User))
	case ActionDeleteUser:
		n.setFact(factDeleted(step.User))
	case ActionRotate, ActionDropOld:
		n.setFact(factRotated(step.User))
	case ActionEnableAuth:
		n.setAuth(engine.AuthOn)
	case ActionDisableAuth:
		n.setAuth(engine.AuthOff)
	case ActionProveAuth:
		n.setFact(v1alpha1.FactProved)
	case ActionBackup:
		n.setFact(v1alpha1.FactBackup)
	case ActionVerify:
		n.setFact(v1alpha1.FactVerified)
	case ActionPrune:
		n.setFact(v1alpha1.FactPruned)
	case ActionSchedule, ActionUnschedule:
		n.rescheduled()
	case ActionStop, ActionFence:
		n.stopped(step.Members)
	case ActionForgetPods:
		for _, m := range step.Members {
			n.Kube.Members[n.memberIndex(m)].Pod = kube.Pod{}
		}
	case ActionExamine:
		n.setFact(v1alpha1.FactExamined(step.member()))
	case ActionSalvage:
		n.setFact(v1alpha1.FactBackup)
	case ActionNewEpoch:
		n.newEpoch()
	case ActionOldEpoch:
		ReturnToEpoch(n.Cluster, n.Operation)
	case ActionDeleteAll:
		n.Kube.Services, n.Kube.Certificates, n.Kube.Budget = false, false, nil
		n.setFact(v1alpha1.FactObjectsDeleted)
	case ActionWriteRecord:
		n.Cluster.ResourceVersion = "predicted"
	case ActionRestoreCA:
		n.restoredAuthority()
	case ActionDeleteRemains:
		n.Kube.Remains = nil
	case ActionForget:
		n.Cluster = nil
	case ActionWait:
		n.settle()
	}
	return n
}

// predictedID is an identity that no registered member has or had: a member
// that joins anew under its old name is another one.
func (s State) predictedID(member string) string {
	id := "predicted-" + member
	if s.Operation != nil && s.Operation.Spec.MemberID == id {
		id += "-anew"
	}
	return id
}

// clone copies all that Predict changes.
func (s State) clone() State {
	s.Cluster = s.Cluster.DeepCopy()
	s.Operation = s.Operation.DeepCopy()
	s.Kube.Members = slices.Clone(s.Kube.Members)
	s.Kube.Leaves = slices.Clone(s.Kube.Leaves)
	s.Kube.Schedule = s.Kube.Schedule.Clone()
	s.View.Members = slices.Clone(s.View.Members)
	s.View.Roster = slices.Clone(s.View.Roster)
	s.View.ClusterIDs = slices.Clone(s.View.ClusterIDs)
	return s
}

func (s *State) memberIndex(name string) int {
	for i, m := range s.Kube.Members {
		if m.Name == name {
			return i
		}
	}
	s.Kube.Members = append(s.Kube.Members, kube.Member{Name: name})
	return len(s.Kube.Members) - 1
}

func (s *State) addMember(name string, bootstrap bool) {
	token, version := s.formation().Token, s.Cluster.Spec.Version
	m := &s.Kube.Members[s.memberIndex(name)]
	m.Volume = kube.Volume{Exists: true, Bound: true, Token: token}
	m.Workload = kube.Workload{Exists: true, Bootstrap: bootstrap, Version: version, Token: token}
	m.Pod = kube.Pod{}
}

func (s *State) dropMember(name string) {
	s.Kube.Members = slices.DeleteFunc(s.Kube.Members, func(m kube.Member) bool { return m.Name == name })
	s.View.Members = slices.DeleteFunc(s.View.Members, func(m engine.Member) bool { return m.Name == name })
}

func (s *State) setVoter(name string) {
	for i := range s.View.Roster {
		if s.View.Roster[i].Name == name {
			s.View.Roster[i].Voter = true
		}
	}
	s.settle()
}

func (s *State) dropRegistered(name string) {
	s.View.Roster = slices.DeleteFunc(s.View.Roster, func(r engine.Registered) bool { return r.Name == name })
	s.View.Members = slices.DeleteFunc(s.View.Members, func(m engine.Member) bool { return m.Name == name })
}

func (s *State) lead(name string) {
	id := s.View.Member(name).ID
	for i := range s.View.Members {
		m := &s.View.Members[i]
		if m.Role.Leads() {
			m.Role = engine.RoleFollower
		}
		if m.Name == name {
			m.Role = engine.RoleLeader
		}
		m.Leader = id
	}
}

func (s *State) upgraded(name string, settings string) {
	m := &s.Kube.Members[s.memberIndex(name)]
	m.Workload.Version = s.Cluster.Spec.Version
	m.Pod.Version = s.Cluster.Spec.Version
	s.rolled(name, settings)
	for i := range s.View.Members {
		if s.View.Members[i].Name == name {
			s.View.Members[i].Version = s.Cluster.Spec.Version
		}
	}
}

func (s *State) rolled(name, settings string) {
	m := &s.Kube.Members[s.memberIndex(name)]
	m.Workload.Settings, m.Pod.Settings = settings, settings
	m.Pod.Exists, m.Pod.Problem = true, nil
}

func (s *State) stopped(names []string) {
	for _, name := range names {
		m := &s.Kube.Members[s.memberIndex(name)]
		m.Workload, m.Pod = kube.Workload{}, kube.Pod{}
	}
	s.View = engine.View{}
}

func (s *State) setFact(name string) {
	if s.Operation.Status.Facts == nil {
		s.Operation.Status.Facts = map[string]string{}
	}
	s.Operation.Status.Facts[name] = "predicted"
}

func (s *State) unsetFact(name string) { delete(s.Operation.Status.Facts, name) }

func (s *State) newEpoch() {
	BeginEpoch(s.Cluster, s.Operation, s.freeName())
}

// BeginEpoch writes the founding of an in-place restore or a recovery into the
// cluster: one founder, under a name that no kept volume bears.
func BeginEpoch(c *v1alpha1.DatabaseCluster, op *v1alpha1.Operation, founder string) {
	from := epochSource(op)
	c.Spec.RestoreFrom = &v1alpha1.RestoreSource{Repository: from.Repository, Backup: from.Backup, KeepRevision: op.Spec.KeepRevision, RootSecret: from.RootSecret}
	// Nobody is let in without a password who was not before.
	c.Spec.Auth.Enabled = c.Spec.Auth.Enabled || from.Auth
	c.Spec.Stopped = false
	c.Status.Formation = &v1alpha1.Formation{Token: EpochToken(op), Members: []string{founder}, Epoch: c.Status.Formation.Epoch + 1}
}

// minor cuts a version to its first two numbers.
func minor(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}
