package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// cancellable says which operations can be stepped back.
func cancellable(op *v1alpha1.Operation) error {
	switch op.Spec.Verb {
	case v1alpha1.VerbScale, v1alpha1.VerbAddMember, v1alpha1.VerbUpgrade, v1alpha1.VerbDowngrade, v1alpha1.VerbBackup, v1alpha1.VerbSchedule,
		v1alpha1.VerbRestart, v1alpha1.VerbSwitchover, v1alpha1.VerbStop, v1alpha1.VerbStart,
		v1alpha1.VerbDefrag, v1alpha1.VerbCompact, v1alpha1.VerbClearAlarms,
		v1alpha1.VerbConfigure, v1alpha1.VerbResize, v1alpha1.VerbRepair,
		v1alpha1.VerbEnableAuth, v1alpha1.VerbDisableAuth, v1alpha1.VerbCreateUser, v1alpha1.VerbRotateCredentials, v1alpha1.VerbRotateCertificates:
		return nil
	case v1alpha1.VerbRecover:
		if !epochJournaled(op) {
			return nil
		}
	case v1alpha1.VerbRestore:
		if from := op.Spec.FromEpoch; from != nil && from.Formation.ClusterID != "" {
			return nil
		}
	}
	return &Error{Kind: Refused, Check: "cancel", Message: fmt.Sprintf("%s can't be stepped back once it began", op.Spec.Verb),
		Hint: "finish it: kubectl dbop resume " + op.Spec.Cluster}
}

// wayBack is the command that ends an operation which can't go on: it steps
// back, or, where the cluster never formed, deletes it. "" if there is none.
func wayBack(op *v1alpha1.Operation, c *v1alpha1.DatabaseCluster) string {
	switch {
	case op == nil:
		return ""
	case cancellable(op) == nil:
		return "kubectl dbop cancel " + op.Spec.Cluster
	case !bootstraps(op) || c == nil || c.Status.Formation == nil || c.Status.Formation.ClusterID != "":
		return ""
	case c.Annotations[v1alpha1.AnnotationCustom] != "":
		return "kubectl delete dbc " + op.Spec.Cluster
	}
	return "kubectl dbop delete " + op.Spec.Cluster
}

// orBack is the end of a sentence that offers the way back.
func orBack(op *v1alpha1.Operation, c *v1alpha1.DatabaseCluster) string {
	switch way := wayBack(op, c); {
	case way == "":
		return ""
	case cancellable(op) == nil:
		return "; or step back: " + way
	case c.Annotations[v1alpha1.AnnotationCustom] != "":
		return "; or delete the object: " + way
	default:
		return "; or start over: " + way + ", then create it again"
	}
}

// afterwards puts before a command what ends the operation in flight, where
// that would have it refused.
func (s State) afterwards(verb v1alpha1.Verb, command string) string {
	o := v1alpha1.OperationSpec{Cluster: s.Cluster.Name, Verb: verb}
	if s.Operation == nil || continues(o, s.Operation) || supersedes(o, s.Operation) {
		return command
	}
	return cmp.Or(wayBack(s.Operation, s.Cluster), "kubectl dbop resume "+s.Cluster.Name) + "; then " + command
}

// moreSpace is how the volumes of members that ran out of it get larger.
func (s State) moreSpace() string {
	name := s.Cluster.Name
	switch {
	case s.formed():
		return "give it more space: " + s.afterwards(v1alpha1.VerbResize, "kubectl dbop resize "+name+" --storage SIZE")
	case s.Cluster.Annotations[v1alpha1.AnnotationCustom] != "":
		return "raise spec.storage.size, delete the object and make it again: kubectl delete dbc " + name
	}
	return fmt.Sprintf("start over with more space: kubectl dbop delete %s, then create it again with a larger --storage", name)
}

// inFlight is the refusal of a request while another is not finished.
func inFlight(active *v1alpha1.Operation, c *v1alpha1.DatabaseCluster) *Error {
	return &Error{Kind: Busy, Check: "operation",
		Message: fmt.Sprintf("operation %s (%s) by %s on %s is not finished",
			active.Name, active.Spec.Verb, orUnknown(active.Spec.RequestedBy), active.Spec.Cluster),
		Hint: fmt.Sprintf("continue it: kubectl dbop resume %s", active.Spec.Cluster) + orBack(active, c)}
}

// mayCancel refuses to step back from what has no way back, and says what
// ends it instead.
func (r *Runner) mayCancel(ctx context.Context, op *v1alpha1.Operation) error {
	err := cancellable(op)
	if e, ok := errors.AsType[*Error](err); ok {
		e.Hint += orBack(op, r.recorded(ctx, op))
	}
	return err
}

// recorded is the cluster of an operation; nil where it can't be read.
func (r *Runner) recorded(ctx context.Context, op *v1alpha1.Operation) *v1alpha1.DatabaseCluster {
	c, err := r.Store.GetCluster(ctx, op.Namespace, op.Spec.Cluster)
	if err != nil {
		return nil
	}
	return c
}
