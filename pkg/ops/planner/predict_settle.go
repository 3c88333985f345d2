package planner

import (
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// settle makes every member what its workload promises: up, joined, healthy.
func settle(e engine.Engine, s *ops.State) {
	if from := s.Cluster.Spec.Source; from != nil && !s.Formed() {
		s.View.Source = &engine.Source{Address: from.String(), Following: true, Linked: true}
	}
	settleMemberList(s)
	s.View.Quorum = true
	like, ok := s.View.Leader()
	if _, registered := s.View.Registered(like.Name); !ok || !registered {
		for _, r := range s.View.MemberList {
			if r.Voter && !r.Witness {
				like = engine.Member{ID: r.ID, Name: r.Name, ClusterID: s.View.ClusterIDs[0],
					Protocol: e.Series(s.Cluster.Spec.Version), Auth: bornWith(e, *s)}
				break
			}
		}
	}
	members := make([]engine.Member, 0, len(s.View.MemberList))
	for i := range s.View.MemberList {
		r := &s.View.MemberList[i]
		r.Started = true
		version := s.Kube.Member(r.Name).Workload.Version
		m := engine.Member{Name: r.Name, ID: r.ID, Reachable: true, Serving: r.Voter || r.Spare, Role: engine.RoleFollower,
			ClusterID: like.ClusterID,
			Leader:    like.ID, Version: version, Position: like.Position, Auth: like.Auth, Protocol: like.Protocol,
			Schema: like.Schema, Pending: s.View.Member(r.Name).Pending, Held: s.View.Member(r.Name).Held}
		if !r.Voter && !r.Spare {
			m.Role = engine.RoleLearner
		}
		if r.ID == like.ID {
			m.Role = engine.RoleLeader
		}
		if m.Certificate = s.View.Member(r.Name).Certificate; m.Certificate == nil {
			m.Certificate = s.FiledSchedule(r.Name)
		}
		members = append(members, m)
	}
	s.View.Members = members
	settleVersion(e, s)
	for i := range s.Kube.Members {
		m := &s.Kube.Members[i]
		if m.Volume.Exists {
			m.Volume.Capacity, m.Volume.Problem = m.Volume.Size, nil
		}
		if m.Workload.Exists {
			m.Pod = observe.Pod{Exists: true, Running: true, Ready: true, Version: m.Workload.Version,
				Settings: m.Workload.Settings, AgentImage: m.Workload.AgentImage, JoinLimit: m.Workload.JoinLimit,
				UID: m.Pod.UID}
		}
	}
}

// settleMemberList makes a member list where none could be read: of the initial members
// before the cluster formed, of the members that have a workload afterwards.
func settleMemberList(s *ops.State) {
	if s.Formed() {
		s.View.ClusterIDs = []string{s.Bootstrap().ClusterID}
		if len(s.View.MemberList) > 0 {
			return
		}
	} else {
		s.View.ClusterIDs = []string{"predicted"}
		s.View.MemberList = nil
	}
	names := s.Bootstrap().Members
	if s.Formed() {
		names = nil
		for _, m := range s.Kube.Members {
			if m.Workload.Exists && m.Workload.Token == s.Bootstrap().Token {
				names = append(names, m.Name)
			}
		}
	}
	for _, n := range names {
		s.View.MemberList = append(s.View.MemberList, engine.Registered{ID: "predicted-" + n, Name: n, Voter: true,
			Started: true,
			Witness: slices.Contains(s.Bootstrap().Witnesses, n)})
	}
}

// settleVersion lets protocol and data format follow once all members are of
// one version, or a downgrade was announced, which is over when all have moved.
func settleVersion(e engine.Engine, s *ops.State) {
	follow := s.View.Downgrade
	if follow == "" && len(s.View.Members) > 0 {
		follow = s.View.Members[0].Version
	}
	all := true
	for _, m := range s.View.Members {
		all = all && e.Series(m.Version) == e.Series(follow)
	}
	switch {
	case s.View.Downgrade != "" && all:
		s.View.Downgrade = ""
	case s.View.Downgrade == "" && !of(s, follow):
		return
	}
	for i := range s.View.Members {
		s.View.Members[i].Protocol = e.Series(follow)
		s.View.Members[i].Schema = e.Series(follow)
	}
}

// of reports whether every member runs a version.
func of(s *ops.State, version string) bool {
	for _, m := range s.View.Members {
		if m.Version != version {
			return false
		}
	}
	return true
}
