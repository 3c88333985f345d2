package ops

import "github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"

// SucceedsIn reports whether the request is to replace an authority that may
// have run out in the middle of an operation on a cluster that had formed.
func (v Verbs) SucceedsIn(o v1alpha1.OperationSpec, active *v1alpha1.Operation) bool {
	asked, m := v.of(o.Verb), v.of(active.Spec.Verb)
	return asked.Succeeds != nil && asked.Succeeds(o) && !m.NewData && !m.Ends && !v.Bootstraps(active)
}

// ReplacesIn reports whether the request is to replace a member that may have
// been lost in the middle of an operation which restarts members.
func (v Verbs) ReplacesIn(o v1alpha1.OperationSpec, active *v1alpha1.Operation) bool {
	return v.of(o.Verb).Replaces && v.of(active.Spec.Verb).Rolls
}

// Continues reports whether the request is the operation in flight.
func (v Verbs) Continues(o v1alpha1.OperationSpec, active *v1alpha1.Operation) bool {
	return v.Same(active, o) && !v.yields(active)
}

// Supersedes reports whether the request may end the operation in flight and take its place.
func (v Verbs) Supersedes(o v1alpha1.OperationSpec, active *v1alpha1.Operation) bool {
	return v.of(o.Verb).Ends || v.recoversFrom(o, active) || v.ReplacesIn(o, active) || v.SucceedsIn(o, active) ||
		v.yields(active) || Untouched(active)
}

// yields reports whether a record that came to a halt gives way to every request.
func (v Verbs) yields(active *v1alpha1.Operation) bool {
	yields := v.of(active.Spec.Verb).Yields
	return yields != nil && yields(active) && active.Status.Phase == v1alpha1.PhasePaused
}

// recoversFrom reports whether the request is to recover from what befell the
// cluster while another operation was under way, or in another way than was
// tried. Without quorum none of them would ever end; with quorum a recovery is
// refused, and the other one goes on.
func (v Verbs) recoversFrom(o v1alpha1.OperationSpec, active *v1alpha1.Operation) bool {
	return v.of(o.Verb).Recovers && !v.of(active.Spec.Verb).Ends
}

// Same reports whether a request asks for what the record already does, so
// that repeating a command continues it.
func (v Verbs) Same(op *v1alpha1.Operation, r v1alpha1.OperationSpec) bool {
	if op.Spec.Cluster != r.Cluster || op.Spec.Verb != r.Verb {
		return false
	}
	same := v.of(r.Verb).Same
	return same == nil || same(op.Spec, r)
}
