package ops

import (
	"slices"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
)

// SetAuth lets every member demand a login, or not.
func (s *State) SetAuth(auth string) {
	for i := range s.View.Members {
		s.View.Members[i].Auth = auth
	}
}

// Unformed reports whether a record is of a cluster that is being founded for
// the first time, and holds no data of a backup yet.
func Unformed(c *v1alpha1.DatabaseCluster) bool {
	f := c.Status.Bootstrap
	return f != nil && f.ClusterID == "" && f.Incarnation == 0 && !f.Loaded
}

// Majority is how many of n voters decide.
func Majority(n int) int { return n/2 + 1 }

// Moment writes a moment for people, without a zone to guess.
func Moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// Silence says why a member without a running pod can't be asked.
func Silence(m observe.Member) string {
	switch {
	case !m.Volume.Exists:
		return "its volume is gone"
	case m.Pod.Problem != nil:
		return m.Pod.Problem.Message
	case m.Volume.Problem != nil:
		return m.Volume.Problem.Message
	case m.Pod.Terminating:
		return "its pod is stopping"
	case m.Pod.Exists:
		return "its pod is starting"
	default:
		return "it has no pod"
	}
}

// BudgetOf is what the disruption budget leaves at least: enough for the larger
// of the members that there are and those that are wanted.
func BudgetOf(e engine.Engine, s State) int32 {
	return int32(e.MinAvailable(max(SizeOf(e, s.Cluster.Spec), len(s.View.Joined())))) // #nosec G115 -- it fits
}

// SizeOf is how many members a spec asks for in all, witnesses included.
func SizeOf(e engine.Engine, spec v1alpha1.DatabaseClusterSpec) int {
	return int(spec.Members) + e.Witnesses(spec)
}

// Missing is how many members with data, and how many witnesses, are wanted beside
// those that there are; negative where there are too many.
func Missing(e engine.Engine, s State) (data, witnesses int) {
	return int(s.Cluster.Spec.Members) - len(s.View.Data()), e.Witnesses(s.Cluster.Spec) - len(s.View.Witnesses())
}

// Removing reports whether the removal of a member was started and written down.
func (s State) Removing(member string) bool { return slices.Contains(s.Bootstrap().Removing, member) }

func (s *State) MemberIndex(name string) int {
	for i, m := range s.Kube.Members {
		if m.Name == name {
			return i
		}
	}
	s.Kube.Members = append(s.Kube.Members, observe.Member{Name: name})
	return len(s.Kube.Members) - 1
}

func (s *State) Lead(name string) {
	id := s.View.Member(name).ID
	for i := range s.View.Members {
		m := &s.View.Members[i]
		if m.Role.Leads() {
			m.Role = engine.RoleFollower
		}
		if m.Name == name {
			m.Role, m.Serving = engine.RoleLeader, true
		}
		m.Leader = id
	}
}

func (s *State) SetFact(name string) {
	if s.Operation.Status.Facts == nil {
		s.Operation.Status.Facts = map[string]string{}
	}
	s.Operation.Status.Facts[name] = "predicted"
}

// Reloaded is the state once a member started again: it accepts what its files say.
func (s *State) Reloaded(member string) {
	for i := range s.View.Members {
		if m := &s.View.Members[i]; m.Name == member {
			m.Certificate = s.FiledSchedule(member)
		}
	}
}

// FiledSchedule is what a member will show that reads its files now; nil if they were
// not observed.
func (s *State) FiledSchedule(member string) *engine.Presented {
	for _, l := range s.Kube.Leaves {
		if l.Member != member || l.Use != pki.UseMember {
			continue
		}
		p := &engine.Presented{Fingerprint: l.Fingerprint, NotAfter: l.NotAfter}
		for _, a := range l.Trusts {
			p.Accepts = append(p.Accepts, a.Subject)
		}
		slices.Sort(p.Accepts)
		return p
	}
	return nil
}

// StatefulSets names the StatefulSets of members, as KIND/NAME.
func StatefulSets(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = "statefulset/" + n
	}
	return out
}

// State is everything a decision may depend on. It is serialisable, so that a
// decision can be replayed from a file.
type State struct {
	// Now is the API server's time, not this machine's.
	Now time.Time `json:"now"`
	// Cluster is the wanted state and what is recorded of it; nil if there is none.
	Cluster *v1alpha1.DatabaseCluster `json:"cluster,omitempty"`
	// Operation is the request in flight, or that is carried out here; nil if there is none.
	Operation *v1alpha1.Operation `json:"operation,omitempty"`
	// Backup is in flight beside other operations; nil if there is none, and where that is not asked.
	Backup *v1alpha1.Operation `json:"backup,omitempty"`
	// Holding says who works on the cluster; nil where that was not observed.
	Holding *lease.Holding `json:"holding,omitempty"`
	// Orphaned: the record names a custom resource, and there is none.
	Orphaned bool          `json:"orphaned,omitempty"`
	Kube     observe.Facts `json:"kube"`
	View     engine.View   `json:"view"`
	// Unasked is the right that was missing to ask the members; "" if they were asked.
	Unasked string `json:"unasked,omitempty"`
	// HasUser: the user that is to be made is there already, as it is asked for. It is asked before a request is written
	// down, and where the cluster lists that user.
	HasUser bool `json:"hasUser,omitempty"`
	// Rendering is the digest of the template that this program gives to members; "" where that is not known.
	Rendering string `json:"rendering,omitempty"`
}

// Bootstrap returns what is recorded of the founding; never nil.
func (s State) Bootstrap() v1alpha1.Bootstrap {
	if s.Cluster == nil || s.Cluster.Status.Bootstrap == nil {
		return v1alpha1.Bootstrap{}
	}
	return *s.Cluster.Status.Bootstrap
}

// Formed reports whether the cluster has ever formed in this incarnation.
func (s State) Formed() bool { return s.Bootstrap().ClusterID != "" }

// Founds reports whether members that start now found the cluster.
func (s State) Founds(e engine.Engine) bool {
	return !s.Formed() && (s.Cluster.Spec.RestoreFrom == nil || e.Capabilities().LoadedFounds)
}

// Verb is the verb in flight, "" without one.
func (s State) Verb() v1alpha1.Verb {
	if s.Operation == nil {
		return ""
	}
	return s.Operation.Spec.Verb
}

// First is what resume and cancel act on: the operation in flight, and without one the backup; nil for nothing.
func (s State) First() *v1alpha1.Operation {
	return Flight{Ordinary: s.Operation, Backup: s.Backup}.First()
}

// Stopped reports whether the operation in flight was left by the process that
// performed it. An operator takes up what is under it by itself.
func (s State) Stopped() bool {
	return s.First() != nil && s.First().Status.Phase != v1alpha1.PhasePaused && s.Holding != nil &&
		s.Holding.Holder == "" &&
		s.Cluster != nil && s.Cluster.Annotations[v1alpha1.AnnotationCustom] == ""
}

// Cancelling reports whether the person asked to step back.
func (s State) Cancelling() bool {
	return s.Operation != nil && s.Operation.Status.Phase == v1alpha1.PhaseCancelling
}

// Waives reports whether the operation in flight gave up the named check.
func (s State) Waives(check string) bool { return s.Operation != nil && s.Operation.Waives(check) }

// Fact returns a fact of the operation in flight.
func (s State) Fact(name string) string {
	if s.Operation == nil {
		return ""
	}
	return s.Operation.Status.Facts[name]
}

// Ours reports whether what exists of the member belongs to this incarnation.
// Volumes of an earlier life, kept on purpose, are not.
func (s State) Ours(m observe.Member) bool {
	token := s.Bootstrap().Token
	return (m.Workload.Exists && m.Workload.Token == token) || (m.Volume.Exists && m.Volume.Token == token)
}

// VolumeMissing reports whether a member of this incarnation has a workload and no volume
// any more: its pod waits for it in vain.
func (s State) VolumeMissing(m observe.Member) bool {
	return s.Formed() && m.Workload.Exists && m.Workload.Token == s.Bootstrap().Token && !m.Volume.Exists
}

// FreeName is the name of the next member: the one that is being replaced, or
// the lowest under which nothing exists and nothing is registered.
func (s State) FreeName() string {
	if s.Verb() == v1alpha1.VerbReplaceMember {
		if name := s.Operation.Spec.Member; s.free(name) {
			return name
		}
	}
	for n := 1; ; n++ {
		name := v1alpha1.MemberName(s.Cluster.Name, n)
		if s.free(name) {
			return name
		}
	}
}

// free reports whether nothing of that name exists or is registered, and a member may have it.
func (s State) free(name string) bool {
	m := s.Kube.Member(name)
	_, registered := s.View.Registered(name)
	return !m.Volume.Exists && !m.Workload.Exists && !m.Pod.Exists && !registered &&
		!slices.Contains(s.View.Retired, name)
}

// Peers are the members that a starting one should be told of: the initial members
// before the cluster formed, the database's own list afterwards, and without
// a list every member of this incarnation: one that has never run before is
// refused by peers whose list is not the one that it was told.
func (s State) Peers(member string) []string {
	if !s.Formed() {
		return s.Bootstrap().Members
	}
	var out []string
	for _, r := range s.View.MemberList {
		out = append(out, r.Name)
	}
	if len(out) == 0 {
		for _, m := range s.Kube.Members {
			if s.Ours(m) {
				out = append(out, m.Name)
			}
		}
	}
	if !slices.Contains(out, member) {
		out = append(out, member)
	}
	return out
}
