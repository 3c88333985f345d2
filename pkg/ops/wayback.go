package ops

import (
	"cmp"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// Cancellable says which operations can be stepped back.
func (v Verbs) Cancellable(op *v1alpha1.Operation) error {
	if back := v.of(op.Spec.Verb).StepsBack; back != nil && back(op) {
		return nil
	}
	return &Error{Kind: Refused, Check: "cancel", Message: fmt.Sprintf("%s can't be stepped back once it began",
		op.Spec.Verb),
		Hint: "finish it: kubectl dbop resume " + op.Spec.Cluster}
}

// WayBack is the command that ends an operation which can't go on: it steps
// back, or, where the cluster never formed, deletes it. "" if there is none.
func (v Verbs) WayBack(op *v1alpha1.Operation, c *v1alpha1.DatabaseCluster) string {
	switch {
	case op == nil:
		return ""
	case v.Cancellable(op) == nil:
		return "kubectl dbop cancel " + op.Spec.Cluster
	case !v.Bootstraps(op) || c == nil || c.Status.Bootstrap == nil || c.Status.Bootstrap.ClusterID != "":
		return ""
	case c.Annotations[v1alpha1.AnnotationCustom] != "":
		return "kubectl delete dbc " + op.Spec.Cluster
	}
	return "kubectl dbop delete " + op.Spec.Cluster
}

// OrBack is the end of a sentence that offers the way back.
func (v Verbs) OrBack(op *v1alpha1.Operation, c *v1alpha1.DatabaseCluster) string {
	switch way := v.WayBack(op, c); {
	case way == "":
		return ""
	case v.Cancellable(op) == nil:
		return "; or step back: " + way
	case c.Annotations[v1alpha1.AnnotationCustom] != "":
		return "; or delete the object: " + way
	default:
		return "; or start over: " + way + ", then create it again"
	}
}

// Afterwards puts before a command what ends the operation in flight, where
// that would have it refused.
func (v Verbs) Afterwards(s State, verb v1alpha1.Verb, command string) string {
	o := v1alpha1.OperationSpec{Cluster: s.Cluster.Name, Verb: verb}
	if s.Operation == nil || v.Continues(o, s.Operation) || v.Supersedes(o, s.Operation) {
		return command
	}
	return cmp.Or(v.WayBack(s.Operation, s.Cluster), "kubectl dbop resume "+s.Cluster.Name) + "; then " + command
}

// MoreSpace is how the volumes of members that ran out of it get larger.
func (v Verbs) MoreSpace(s State) string {
	name := s.Cluster.Name
	switch {
	case s.Formed():
		return "give it more space: " + v.Afterwards(s, v1alpha1.VerbResize, "kubectl dbop resize "+name+" --storage SIZE")
	case s.Cluster.Annotations[v1alpha1.AnnotationCustom] != "":
		return "raise spec.storage.size, delete the object and make it again: kubectl delete dbc " + name
	}
	return fmt.Sprintf("start over with more space: kubectl dbop delete %s, then create it again with a larger --storage",
		name)
}

// InFlight is the refusal of a request while another is not finished.
func (v Verbs) InFlight(active *v1alpha1.Operation, c *v1alpha1.DatabaseCluster) *Error {
	return &Error{Kind: Busy, Check: "operation",
		Message: fmt.Sprintf("operation %s (%s) by %s on %s is not finished",
			active.Name, active.Spec.Verb, OrUnknown(active.Spec.RequestedBy), active.Spec.Cluster),
		Hint: fmt.Sprintf("continue it: kubectl dbop resume %s", active.Spec.Cluster) + v.OrBack(active, c)}
}
