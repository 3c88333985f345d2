package ops

import "github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"

// Manners are what an operation says of itself to other requests: whether it gives way, and to what. The zero value has
// no way back, waits for what is in flight, and gives way to nothing but what ends or recovers the cluster.
type Manners struct {
	// Bootstraps reports whether the cluster's record exists only for the request; nil for never.
	Bootstraps func(o v1alpha1.OperationSpec) bool
	// StepsBack reports whether cancel may step the operation back; nil for never.
	StepsBack func(op *v1alpha1.Operation) bool
	// Same reports whether two requests of the verb for one cluster ask for the same; nil for always.
	Same func(have, asked v1alpha1.OperationSpec) bool
	// Alongside: it leaves the cluster as it is, and goes on beside operations that leave alone what it reads. It is taken
	// under a lease of its own.
	Alongside bool
	// Ends the cluster, whatever its members say of their identity.
	Ends bool
	// Recovers what no other operation outlasts, a lost quorum or leader: it weighs why members crash.
	Recovers bool
	// NewData: which data is the cluster's is another after it.
	NewData bool
	// Removes the member that the request names; Replaces it with another of the same name.
	Removes, Replaces bool
	// Rolls: it restarts one member after another, so a member may be lost in its middle, and replaced.
	Rolls bool
	// Succeeds reports whether the request replaces an authority, which may run out in the middle of an operation; nil
	// for never.
	Succeeds func(o v1alpha1.OperationSpec) bool
	// Yields reports whether the operation, once it came to a halt, gives way to every request: all that it has done
	// counts by itself; nil for never.
	Yields func(op *v1alpha1.Operation) bool
}

// Anytime is for an operation that steps back, or yields, however far it came.
func Anytime(*v1alpha1.Operation) bool { return true }

// Verbs finds the manners of a verb. The planner has them; nil knows none.
type Verbs func(v1alpha1.Verb) Manners

// of are the manners of a verb.
func (v Verbs) of(verb v1alpha1.Verb) Manners {
	if v == nil {
		return Manners{}
	}
	return v(verb)
}

// Bootstraps reports whether the cluster's record exists only for this operation.
func (v Verbs) Bootstraps(op *v1alpha1.Operation) bool {
	m := v.of(op.Spec.Verb)
	return m.Bootstraps != nil && m.Bootstraps(op.Spec)
}

// Removes reports whether what is left of a member may be deleted: the
// operation in flight names it, or its removal was started and written down.
func (v Verbs) Removes(s State, member string) bool {
	if m := v.of(s.Verb()); (m.Removes || m.Replaces) && s.Operation.Spec.Member == member {
		return true
	}
	return s.Removing(member)
}
