package operation

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// Stop takes the pods of a cluster and keeps the volumes. The standing rules stop what is wanted stopped.
type Stop struct{ rules.Plain }

// Traits implements rules.Operation.
func (Stop) Traits() rules.Traits {
	return rules.Traits{Stopped: true, Schedule: rules.ScheduleSuspended}
}

// Manners implements rules.Operation.
func (Stop) Manners() ops.Manners { return ops.Manners{StepsBack: ops.Anytime} }

// Default implements rules.Operation.
func (Stop) Default(o *v1alpha1.OperationSpec, c *v1alpha1.DatabaseCluster) {
	o.FromStopped = new(c.Spec.Stopped)
}

// ApplyTo implements rules.Operation.
func (Stop) ApplyTo(spec *v1alpha1.DatabaseClusterSpec, o v1alpha1.OperationSpec, back bool) {
	spec.Stopped = !back || o.FromStopped != nil && *o.FromStopped
}

// Undo implements rules.Operation.
func (Stop) Undo(u *rules.Undoing) error {
	switch from := u.Of.Spec.FromStopped; {
	case from == nil:
		return u.Unrecorded("whether it was stopped before")
	case *from:
		return u.Idle()
	}
	u.Operation.Verb, u.Title = v1alpha1.VerbStart, "start it again"
	return nil
}
