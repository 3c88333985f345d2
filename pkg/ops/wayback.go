package ops

import (
	"cmp"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// Cancellable says which operations can be stepped back.
func Cancellable(op *v1alpha1.Operation) error {
	switch op.Spec.Verb {
	case v1alpha1.VerbScale, v1alpha1.VerbAddMember, v1alpha1.VerbUpgrade, v1alpha1.VerbDowngrade, v1alpha1.VerbBackup,
		v1alpha1.VerbSchedule,
		v1alpha1.VerbRestart, v1alpha1.VerbSwitchover, v1alpha1.VerbStop, v1alpha1.VerbStart,
		v1alpha1.VerbDefrag, v1alpha1.VerbCompact, v1alpha1.VerbClearAlarms,
		v1alpha1.VerbConfigure, v1alpha1.VerbResize, v1alpha1.VerbRepair,
		v1alpha1.VerbEnableAuth, v1alpha1.VerbDisableAuth, v1alpha1.VerbCreateUser, v1alpha1.VerbRotateCredentials,
		v1alpha1.VerbRotateCertificates:
		return nil
	case v1alpha1.VerbRecover:
		if !incarnationRecorded(op) {
			return nil
		}
	case v1alpha1.VerbRestore:
		if from := op.Spec.FromIncarnation; from != nil && from.Bootstrap.ClusterID != "" {
			return nil
		}
	}
	return &Error{Kind: Refused, Check: "cancel", Message: fmt.Sprintf("%s can't be stepped back once it began",
		op.Spec.Verb),
		Hint: "finish it: kubectl dbop resume " + op.Spec.Cluster}
}

// WayBack is the command that ends an operation which can't go on: it steps
// back, or, where the cluster never formed, deletes it. "" if there is none.
func WayBack(op *v1alpha1.Operation, c *v1alpha1.DatabaseCluster) string {
	switch {
	case op == nil:
		return ""
	case Cancellable(op) == nil:
		return "kubectl dbop cancel " + op.Spec.Cluster
	case !Bootstraps(op) || c == nil || c.Status.Bootstrap == nil || c.Status.Bootstrap.ClusterID != "":
		return ""
	case c.Annotations[v1alpha1.AnnotationCustom] != "":
		return "kubectl delete dbc " + op.Spec.Cluster
	}
	return "kubectl dbop delete " + op.Spec.Cluster
}

// OrBack is the end of a sentence that offers the way back.
func OrBack(op *v1alpha1.Operation, c *v1alpha1.DatabaseCluster) string {
	switch way := WayBack(op, c); {
	case way == "":
		return ""
	case Cancellable(op) == nil:
		return "; or step back: " + way
	case c.Annotations[v1alpha1.AnnotationCustom] != "":
		return "; or delete the object: " + way
	default:
		return "; or start over: " + way + ", then create it again"
	}
}

// Afterwards puts before a command what ends the operation in flight, where
// that would have it refused.
func (s State) Afterwards(verb v1alpha1.Verb, command string) string {
	o := v1alpha1.OperationSpec{Cluster: s.Cluster.Name, Verb: verb}
	if s.Operation == nil || Continues(o, s.Operation) || Supersedes(o, s.Operation) {
		return command
	}
	return cmp.Or(WayBack(s.Operation, s.Cluster), "kubectl dbop resume "+s.Cluster.Name) + "; then " + command
}

// MoreSpace is how the volumes of members that ran out of it get larger.
func (s State) MoreSpace() string {
	name := s.Cluster.Name
	switch {
	case s.Formed():
		return "give it more space: " + s.Afterwards(v1alpha1.VerbResize, "kubectl dbop resize "+name+" --storage SIZE")
	case s.Cluster.Annotations[v1alpha1.AnnotationCustom] != "":
		return "raise spec.storage.size, delete the object and make it again: kubectl delete dbc " + name
	}
	return fmt.Sprintf("start over with more space: kubectl dbop delete %s, then create it again with a larger --storage",
		name)
}

// InFlight is the refusal of a request while another is not finished.
func InFlight(active *v1alpha1.Operation, c *v1alpha1.DatabaseCluster) *Error {
	return &Error{Kind: Busy, Check: "operation",
		Message: fmt.Sprintf("operation %s (%s) by %s on %s is not finished",
			active.Name, active.Spec.Verb, OrUnknown(active.Spec.RequestedBy), active.Spec.Cluster),
		Hint: fmt.Sprintf("continue it: kubectl dbop resume %s", active.Spec.Cluster) + OrBack(active, c)}
}
