package operation

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// Start runs the members of a stopped cluster on their volumes again. The standing rules start what has a volume.
type Start struct{ rules.Plain }

// Traits implements rules.Operation.
func (Start) Traits() rules.Traits {
	return rules.Traits{Starts: true, Restarts: true, PutsBackTemplates: true, NoWayBack: true,
		Schedule: rules.ScheduleSuspended}
}

// Manners implements rules.Operation.
func (Start) Manners() ops.Manners { return ops.Manners{StepsBack: ops.Anytime} }

// Default implements rules.Operation.
func (Start) Default(o *v1alpha1.OperationSpec, c *v1alpha1.DatabaseCluster) {
	o.FromStopped = new(c.Spec.Stopped)
}

// ApplyTo implements rules.Operation.
func (Start) ApplyTo(spec *v1alpha1.DatabaseClusterSpec, o v1alpha1.OperationSpec, back bool) {
	spec.Stopped = back && o.FromStopped != nil && *o.FromStopped
}

// Undo implements rules.Operation.
func (Start) Undo(u *rules.Undoing) error {
	switch from := u.Of.Spec.FromStopped; {
	case from == nil:
		return u.Unrecorded("whether it was stopped before")
	case !*from:
		return u.Idle()
	}
	u.Operation.Verb, u.Title = v1alpha1.VerbStop, "stop it again"
	u.Lost = []string{"every connection, until it is started again"}
	return nil
}
