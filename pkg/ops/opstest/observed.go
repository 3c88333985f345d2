package opstest

import (
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// Alarm raises an alarm against a member, "" for nobody.
func Alarm(s *ops.State, name string, cause engine.Cause, member string) {
	a := engine.Alarm{Name: name, Cause: cause, Member: member}
	for i := range s.View.Members {
		if m := &s.View.Members[i]; m.Name == member {
			a.MemberID = m.ID
			m.Alarms = append(m.Alarms, name)
		}
	}
	s.View.Alarms = append(s.View.Alarms, a)
}

// WantsAuth has the cluster ask for authentication.
func WantsAuth(s *ops.State) { s.Cluster.Spec.Auth.Enabled = true }

// OneDiffers has one member say that authentication is off.
func OneDiffers(s *ops.State) { s.View.Members[1].Auth = engine.AuthOff }

// Vanish takes a member's volume and pod, and leaves its workload.
func Vanish(s *ops.State, name string) {
	Down(s, name, observe.ProblemUnschedulable, time.Minute)
	s.Kube.Members[s.MemberIndex(name)].Volume = observe.Volume{}
}

// Podless takes a member's pod and nothing else.
func Podless(s *ops.State, name string) {
	Down(s, name, "", 0)
	s.Kube.Members[s.MemberIndex(name)].Pod = observe.Pod{}
}

// Without takes a member's volume away.
func Without(s *ops.State, member string) {
	Down(s, member, observe.ProblemVolume, time.Minute)
	s.Kube.Members[s.MemberIndex(member)].Volume = observe.Volume{}
}

// Now is the time of every state.
func Now() time.Time { return time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC) }

// Wanted is a cluster that is asked for, with its founding written down.
func Wanted(members int) ops.State {
	c := &v1alpha1.DatabaseCluster{}
	c.Name, c.Namespace = "db", "shop"
	c.Spec = v1alpha1.DatabaseClusterSpec{Engine: "stub", Version: "1.1.0", Members: int32(members)}
	c.Status.Bootstrap = &v1alpha1.Bootstrap{Token: "t"}
	for n := 1; n <= members; n++ {
		c.Status.Bootstrap.Members = append(c.Status.Bootstrap.Members, v1alpha1.MemberName("db", n))
	}
	return ops.State{Now: Now(), Cluster: c, Operation: Operation(v1alpha1.VerbCreate)}
}

// Operation is a record in flight that has started.
func Operation(verb v1alpha1.Verb) *v1alpha1.Operation {
	op := &v1alpha1.Operation{}
	op.Name, op.Namespace = "db.op", "shop"
	op.Spec = v1alpha1.OperationSpec{Cluster: "db", Verb: verb, Backup: "b1", Repository: "dir:/backups"}
	op.Status.Phase = v1alpha1.PhaseRunning
	return op
}

// Well is a formed, healthy cluster at rest, led by its first member.
func Well(members int) ops.State {
	s := Wanted(members)
	s.Operation = nil
	s.Cluster.Status.Bootstrap.ClusterID = "id"
	s.Kube.Certificates, s.Kube.Services = true, true
	if members > 1 {
		b := int32(members/2 + 1)
		s.Kube.Budget = &b
	}
	s.View = engine.View{Quorum: true, ClusterIDs: []string{"id"}}
	for n := 1; n <= members; n++ {
		Join(&s, v1alpha1.MemberName("db", n), true)
	}
	s.Lead("db-1")
	return s
}

// Join adds a member that runs and is registered.
func Join(s *ops.State, name string, voter bool) {
	s.Kube.Members = append(s.Kube.Members, observe.Member{Name: name,
		Volume:   observe.Volume{Exists: true, Bound: true, Token: "t"},
		Workload: observe.Workload{Exists: true, Version: s.Cluster.Spec.Version, Token: "t"},
		Pod:      observe.Pod{Exists: true, Running: true, Ready: true, Version: s.Cluster.Spec.Version}})
	role := engine.RoleFollower
	if !voter {
		role = engine.RoleLearner
	}
	s.View.MemberList = append(s.View.MemberList, engine.Registered{ID: "id-" + name, Name: name, Voter: voter,
		Started: true})
	s.View.Members = append(s.View.Members, engine.Member{Name: name, ID: "id-" + name, Reachable: true, Serving: voter,
		Role: role, ClusterID: "id",
		Version: s.Cluster.Spec.Version, Protocol: Versions(2).Series(s.Cluster.Spec.Version)})
}

// Down makes a member unreachable, with a problem that began so long ago.
func Down(s *ops.State, name string, kind observe.ProblemKind, ago time.Duration) {
	for i := range s.View.Members {
		if m := &s.View.Members[i]; m.Name == name {
			*m = engine.Member{Name: name, Role: engine.RoleUnknown}
		}
	}
	pod := &s.Kube.Members[s.MemberIndex(name)].Pod
	pod.Running, pod.Ready = false, false
	if kind != "" {
		pod.Problem = &observe.Problem{Kind: kind, Message: "as the cluster says", Since: s.Now.Add(-ago)}
	}
}

// NoQuorum takes away the majority's word.
func NoQuorum(s *ops.State) {
	s.View.Quorum, s.View.MemberList = false, nil
	for i := range s.View.Members {
		s.View.Members[i].Serving = false
		s.View.Members[i].Role = engine.RoleFollower
	}
}

// Runs puts a member on a version, pod included.
func Runs(s *ops.State, name, version string) {
	m := &s.Kube.Members[s.MemberIndex(name)]
	m.Workload.Version, m.Pod.Version = version, version
	for i := range s.View.Members {
		if s.View.Members[i].Name == name {
			s.View.Members[i].Version = version
		}
	}
}

// Speaks gives every member a protocol and a data format.
func Speaks(s *ops.State, protocol, schema string) {
	for i := range s.View.Members {
		s.View.Members[i].Protocol, s.View.Members[i].Schema = protocol, schema
	}
}

// Doing gives the state an operation, which is under way unless it is fresh.
func Doing(s ops.State, op *v1alpha1.Operation, fresh bool) ops.State {
	s.Operation = op
	if !fresh {
		op.Status.Journal = []v1alpha1.JournalEntry{{Step: "before"}}
	}
	return s
}
