package planner

import (
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
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
	if predict, ok := predictions()[step.Action]; ok {
		predict(outcome{State: &n, Step: step, e: e})
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

func upgraded(o outcome) {
	m := o.member()
	m.Workload.Version = o.Cluster.Spec.Version
	m.Pod.Version = o.Cluster.Spec.Version
	rolled(o)
	for i := range o.View.Members {
		if o.View.Members[i].Name == m.Name {
			o.View.Members[i].Version = o.Cluster.Spec.Version
		}
	}
}

func rolled(o outcome) {
	m, settings, agent := o.member(), o.settings(), rules.AgentImage(o.e, o.Cluster)
	m.Workload.Settings, m.Pod.Settings = settings, settings
	m.Workload.AgentImage, m.Pod.AgentImage = agent, agent
	m.Pod.Exists, m.Pod.Problem = true, nil
	for i := range o.View.Members {
		if v := &o.View.Members[i]; v.Name == m.Name {
			v.Pending = nil
		}
	}
}

func stopped(s *ops.State, names []string) {
	for _, name := range names {
		m := &s.Kube.Members[s.MemberIndex(name)]
		m.Workload, m.Pod = observe.Workload{}, observe.Pod{}
	}
	s.View = engine.View{}
}

func unsetFact(s *ops.State, name string) { delete(s.Operation.Status.Facts, name) }

func newIncarnation(s *ops.State, former string) {
	ops.BeginIncarnation(s.Cluster, s.Operation, s.FreeName(), former)
}

// oldIncarnation predicts that the former incarnation is in force again, with the volume of a former member that was
// taken over and can go back.
func oldIncarnation(s *ops.State) {
	f := s.Bootstrap()
	ops.ReturnToIncarnation(s.Cluster, s.Operation)
	if f.InPlace == v1alpha1.InPlaceReverted {
		s.Kube.Members[s.MemberIndex(f.Members[0])].Volume.Token = s.Bootstrap().Token
	}
}
