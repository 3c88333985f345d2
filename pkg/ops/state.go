// Package ops is the heart: observe, plan, act. State is what was observed,
// Decide is the pure judgement of it, Plan is Decide carried forward over
// predicted states, and Loop performs one step after another, observing in
// between. It knows no engine, no command line and no manager.
package ops

import (
	"slices"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// State is everything a decision may depend on. It is serialisable, so that a
// decision can be replayed from a file.
type State struct {
	// Now is the API server's time, not this machine's.
	Now time.Time `json:"now"`
	// Cluster is the wanted state and what is recorded of it; nil if there is none.
	Cluster *v1alpha1.DatabaseCluster `json:"cluster,omitempty"`
	// Operation is the request in flight; nil if there is none.
	Operation *v1alpha1.Operation `json:"operation,omitempty"`
	// Holding says who works on the cluster; nil where that was not looked at.
	Holding *kube.Holding `json:"holding,omitempty"`
	// Orphaned: the record names a custom resource, and there is none.
	Orphaned bool        `json:"orphaned,omitempty"`
	Kube     kube.Facts  `json:"kube"`
	View     engine.View `json:"view"`
	// Unasked is the right that was missing to ask the members; "" if they were asked.
	Unasked string `json:"unasked,omitempty"`
	// Rendering is the digest of the template that this program gives to members; "" where that is not known.
	Rendering string `json:"rendering,omitempty"`
}

// formation returns what is recorded of the founding; never nil.
func (s State) formation() v1alpha1.Formation {
	if s.Cluster == nil || s.Cluster.Status.Formation == nil {
		return v1alpha1.Formation{}
	}
	return *s.Cluster.Status.Formation
}

// formed reports whether the cluster has ever formed in this epoch.
func (s State) formed() bool { return s.formation().ClusterID != "" }

// verb is the verb in flight, "" without one.
func (s State) verb() v1alpha1.Verb {
	if s.Operation == nil {
		return ""
	}
	return s.Operation.Spec.Verb
}

// Stopped reports whether the operation in flight was left by the process that
// performed it. An operator takes up what is under it by itself.
func (s State) Stopped() bool {
	return s.Operation != nil && s.Operation.Status.Phase != v1alpha1.PhasePaused && s.Holding != nil && s.Holding.Holder == "" &&
		s.Cluster != nil && s.Cluster.Annotations[v1alpha1.AnnotationCustom] == ""
}

// cancelling reports whether the person asked to step back.
func (s State) cancelling() bool {
	return s.Operation != nil && s.Operation.Status.Phase == v1alpha1.PhaseCancelling
}

// waives reports whether the operation in flight gave up the named check.
func (s State) waives(check string) bool { return s.Operation != nil && s.Operation.Waives(check) }

// fact returns a fact of the operation in flight.
func (s State) fact(name string) string {
	if s.Operation == nil {
		return ""
	}
	return s.Operation.Status.Facts[name]
}

// ours reports whether what exists of the member belongs to this epoch.
// Volumes of an earlier life, kept on purpose, are not.
func (s State) ours(m kube.Member) bool {
	token := s.formation().Token
	return (m.Workload.Exists && m.Workload.Token == token) || (m.Volume.Exists && m.Volume.Token == token)
}

// bereft reports whether a member of this epoch has a workload and no volume
// any more: its pod waits for it in vain.
func (s State) bereft(m kube.Member) bool {
	return s.formed() && m.Workload.Exists && m.Workload.Token == s.formation().Token && !m.Volume.Exists
}

// freeName is the name of the next member: the one that is being replaced, or
// the lowest under which nothing exists and nothing is registered.
func (s State) freeName() string {
	if s.verb() == v1alpha1.VerbReplaceMember {
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

// free reports whether nothing of that name exists or is registered.
func (s State) free(name string) bool {
	m := s.Kube.Member(name)
	_, registered := s.View.Registered(name)
	return !m.Volume.Exists && !m.Workload.Exists && !m.Pod.Exists && !registered
}

// Peers are the members that a starting one should be told of: the founders
// before the cluster formed, the database's own list afterwards, and without
// a list every member of this epoch, for one that has never run before is
// turned away by peers whose list is not the one that it was told.
func (s State) Peers(member string) []string {
	if !s.formed() {
		return s.formation().Members
	}
	var out []string
	for _, r := range s.View.Roster {
		out = append(out, r.Name)
	}
	if len(out) == 0 {
		for _, m := range s.Kube.Members {
			if s.ours(m) {
				out = append(out, m.Name)
			}
		}
	}
	if !slices.Contains(out, member) {
		out = append(out, member)
	}
	return out
}
