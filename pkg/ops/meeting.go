package ops

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// sameCompaction compares what was asked for, not what it came to.
func sameCompaction(a, b *v1alpha1.Compaction) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Revision == b.Revision && a.Keep == b.Keep
}

// SucceedsIn reports whether the request is to replace an authority that may
// have run out in the middle of an operation on a cluster that had formed.
func SucceedsIn(o v1alpha1.OperationSpec, active *v1alpha1.Operation) bool {
	if o.Verb != v1alpha1.VerbRotateCertificates || o.Rotation != v1alpha1.RotateAtOnce {
		return false
	}
	switch active.Spec.Verb {
	case v1alpha1.VerbCreate, v1alpha1.VerbRestore, v1alpha1.VerbRecover, v1alpha1.VerbDelete:
		return false
	}
	return true
}

// ReplacesIn reports whether the request is to replace a member that may have
// been lost in the middle of an operation which restarts members.
func ReplacesIn(o v1alpha1.OperationSpec, active *v1alpha1.Operation) bool {
	if o.Verb != v1alpha1.VerbReplaceMember {
		return false
	}
	switch active.Spec.Verb {
	case v1alpha1.VerbUpgrade, v1alpha1.VerbDowngrade, v1alpha1.VerbConfigure, v1alpha1.VerbResize:
		return true
	}
	return false
}

// Continues reports whether the request is the operation in flight.
func Continues(o v1alpha1.OperationSpec, active *v1alpha1.Operation) bool {
	return Same(active, o) && !yields(active)
}

// Supersedes reports whether the request may end the operation in flight and take its place.
func Supersedes(o v1alpha1.OperationSpec, active *v1alpha1.Operation) bool {
	return o.Verb == v1alpha1.VerbDelete || recoversFrom(o, active) || ReplacesIn(o, active) || SucceedsIn(o, active) ||
		yields(active) || Untouched(active)
}

// yields reports whether a record that came to a halt gives way to whatever is
// asked for next: a clearing of alarms or a defragmentation that needs another
// operation first, or a look with new eyes once keys were deleted. All that it
// has done counts by itself.
func yields(active *v1alpha1.Operation) bool {
	switch active.Spec.Verb {
	case v1alpha1.VerbClearAlarms, v1alpha1.VerbDefrag:
		return active.Status.Phase == v1alpha1.PhasePaused
	}
	return false
}

// recoversFrom reports whether the request is to recover from what befell the
// cluster while another operation was under way, or in another way than was
// tried. Without quorum none of them would ever end; with quorum a recovery is
// refused, and the other one goes on.
func recoversFrom(o v1alpha1.OperationSpec, active *v1alpha1.Operation) bool {
	return o.Verb == v1alpha1.VerbRecover && active.Spec.Verb != v1alpha1.VerbDelete
}

// Same reports whether a request asks for what the record already does, so
// that repeating a command continues it.
func Same(op *v1alpha1.Operation, r v1alpha1.OperationSpec) bool {
	o := op.Spec
	if o.Cluster != r.Cluster || o.Verb != r.Verb {
		return false
	}
	switch o.Verb {
	case v1alpha1.VerbScale:
		return o.Members == r.Members
	case v1alpha1.VerbUpgrade, v1alpha1.VerbDowngrade:
		return o.Version == r.Version
	case v1alpha1.VerbConfigure, v1alpha1.VerbResize:
		return equality.Semantic.DeepEqual(o.Change, r.Change)
	case v1alpha1.VerbRemoveMember, v1alpha1.VerbReplaceMember, v1alpha1.VerbSwitchover:
		return o.Member == r.Member
	case v1alpha1.VerbDelete:
		return o.Purge == r.Purge && slices.Equal(o.Waive, r.Waive)
	case v1alpha1.VerbRestore:
		return o.InPlace == r.InPlace && (o.Source == nil) == (r.Source == nil) && (o.Source == nil || *o.Source == *r.Source)
	case v1alpha1.VerbBackup:
		return o.Repository == r.Repository && (o.Object == r.Object || r.Object == "")
	case v1alpha1.VerbSchedule:
		return *o.Policy == *r.Policy
	case v1alpha1.VerbCreateUser, v1alpha1.VerbDeleteUser, v1alpha1.VerbRotateCredentials:
		return o.DropOld == r.DropOld && (o.User == nil) == (r.User == nil) && (o.User == nil || o.User.Name == r.User.Name)
	case v1alpha1.VerbRotateCertificates:
		return o.Rotation == r.Rotation
	case v1alpha1.VerbCompact, v1alpha1.VerbClearAlarms:
		return sameCompaction(o.Compaction, r.Compaction)
	case v1alpha1.VerbRecover:
		return (r.Method == "" || o.Method == r.Method) && (r.Source == nil || o.Source != nil && *o.Source == *r.Source) &&
			slices.Equal(o.Dead, r.Dead) && slices.Equal(o.Without, r.Without) && slices.Equal(o.Waive, r.Waive)
	default:
		return true
	}
}
