package rules

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// Operation is one verb: all that the tool must know of it. A verb embeds Plain and says only what is different.
type Operation interface {
	// Traits are what the standing rules ask about the operation, Manners what other requests ask.
	Traits() Traits
	Manners() ops.Manners
	// Check judges what the request and the recorded cluster show, before anything is observed. Wanted is the cluster
	// that a create or a restore asks for; nil for everything else.
	Check(e engine.Engine, o v1alpha1.OperationSpec, c, wanted *v1alpha1.DatabaseCluster) error
	// Default fills in what the request takes from the cluster as it is recorded.
	Default(o *v1alpha1.OperationSpec, c *v1alpha1.DatabaseCluster)
	// Resolve writes into the request what only the running cluster shows, and what the operation is about to change.
	Resolve(e engine.Engine, o *v1alpha1.OperationSpec, s ops.State) error
	// ApplyTo writes the wanted values into the cluster's spec, or, with back, those from before. A repeat changes
	// nothing.
	ApplyTo(spec *v1alpha1.DatabaseClusterSpec, o v1alpha1.OperationSpec, back bool)
	// Steps say what the operation does next.
	Steps() Steps
	// Undo completes the request that takes a finished record back, or refuses and says what to type instead.
	Undo(u *Undoing) error
}

// Steps are what an operation does next, by what holds before. The planner asks them in this order, between the
// standing rules; nil asks for nothing.
type Steps struct {
	// Alone concerns no member and waits for none: its decision is the last one.
	Alone func(Situation) *ops.Decision
	// First comes before the cluster is formed, started or stopped.
	First func(Situation) *ops.Decision
	// Stopped comes while the members may be stopped.
	Stopped func(Situation) *ops.Decision
	// Running comes once every member with a volume has a workload.
	Running func(Situation) *ops.Decision
	// Joined comes once no join and no removal is unfinished.
	Joined func(Situation) *ops.Decision
	// Sized comes once the cluster has as many members as are wanted.
	Sized func(Situation) *ops.Decision
}

// Traits are what the standing rules ask about an operation. The zero value is that of a cluster at rest.
type Traits struct {
	// Unformed operations may be asked for before the cluster has formed, Stopped ones while it is stopped.
	Unformed, Stopped bool
	// Starts makes members, Restarts restarts them.
	Starts, Restarts bool
	// NeedsSpace: it does not begin under an alarm for want of space, because it changes members or versions.
	NeedsSpace bool
	// DespiteDamage: an alarm about damaged data does not keep it from going on.
	DespiteDamage bool
	// RenewsCertificates: certificates that can't be used don't keep it from beginning.
	RenewsCertificates bool
	// Passwords are written down before the first member starts.
	Passwords bool
	// PutsBackTemplates before it starts members.
	PutsBackTemplates bool
	// NewSettings: it gives members other settings.
	NewSettings bool
	// OnlyReads: it changes nothing of the cluster, so there is nothing to undo.
	OnlyReads bool
	// ReadsCertificates, ReadsSchedule: it is about objects that are not read otherwise.
	ReadsCertificates, ReadsSchedule bool
	// SparesMembers: it ends without asking whether all members are healthy.
	SparesMembers bool
	// NoWayBack: it ends although a member was lost meanwhile, so that the member can be replaced.
	NoWayBack bool
	// Schedule is what it may do to scheduled backups.
	Schedule ScheduleScope
	// Outdated are, of an operation that restarts one member after another, the voters that are still to be restarted.
	Outdated func(Situation) []string
	// StaysOpen reports whether the way back stays open once a member has left; nil for always.
	StaysOpen func(p Situation, left string, outdated []string) bool
}

// ScheduleScope is what an operation may do to scheduled backups.
type ScheduleScope int

// The scopes.
const (
	// ScheduleKept leaves them as they are.
	ScheduleKept ScheduleScope = iota
	// ScheduleSuspended stops runs from being started, or lets them begin again.
	ScheduleSuspended
	// ScheduleMade makes, changes and removes them.
	ScheduleMade
)

// Plain is an operation that asks for nothing special. Verbs embed it.
type Plain struct{}

var _ Operation = Plain{}

// Traits implements Operation.
func (Plain) Traits() Traits { return Traits{} }

// Manners implements Operation.
func (Plain) Manners() ops.Manners { return ops.Manners{} }

// Check implements Operation.
func (Plain) Check(engine.Engine, v1alpha1.OperationSpec, *v1alpha1.DatabaseCluster, *v1alpha1.DatabaseCluster) error {
	return nil
}

// Default implements Operation.
func (Plain) Default(*v1alpha1.OperationSpec, *v1alpha1.DatabaseCluster) {}

// Resolve implements Operation.
func (Plain) Resolve(engine.Engine, *v1alpha1.OperationSpec, ops.State) error { return nil }

// ApplyTo implements Operation.
func (Plain) ApplyTo(*v1alpha1.DatabaseClusterSpec, v1alpha1.OperationSpec, bool) {}

// Steps implements Operation.
func (Plain) Steps() Steps { return Steps{} }

// Undo implements Operation.
func (Plain) Undo(u *Undoing) error {
	return NoUndo(u.Of.Spec.Cluster, "there is no way back from "+string(u.Of.Spec.Verb), "")
}

// PodsOf are the UIDs, by member, of the cluster's pods.
func PodsOf(s ops.State) map[string]string {
	out := map[string]string{}
	for _, m := range s.Kube.Members {
		if m.Pod.Exists && s.Ours(m) {
			out[m.Name] = m.Pod.UID
		}
	}
	return out
}
