package users

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// DisableAuth lets clients in without logging in.
type DisableAuth struct{ rules.Plain }

// Manners implements rules.Operation.
func (DisableAuth) Manners() ops.Manners { return ops.Manners{StepsBack: ops.Anytime} }

// Check implements rules.Operation.
func (DisableAuth) Check(e engine.Engine, _ v1alpha1.OperationSpec, _, _ *v1alpha1.DatabaseCluster) error {
	return CheckLogin(e)
}

// Default implements rules.Operation.
func (DisableAuth) Default(o *v1alpha1.OperationSpec, c *v1alpha1.DatabaseCluster) {
	o.FromAuth = new(c.Spec.Auth.Enabled)
}

// ApplyTo implements rules.Operation.
func (DisableAuth) ApplyTo(spec *v1alpha1.DatabaseClusterSpec, o v1alpha1.OperationSpec, back bool) {
	spec.Auth.Enabled = back && o.FromAuth != nil && *o.FromAuth
}

// Steps implements rules.Operation.
func (DisableAuth) Steps() rules.Steps { return rules.Steps{Running: Authenticate} }

// Undo implements rules.Operation.
func (DisableAuth) Undo(u *rules.Undoing) error {
	switch from := u.Of.Spec.FromAuth; {
	case from == nil:
		return u.Unrecorded("whether clients had to log in before")
	case !*from:
		return u.Idle()
	}
	u.Operation.Verb, u.Title = v1alpha1.VerbEnableAuth, "demand that clients log in"
	u.Lost = []string{"access of clients that don't log in"}
	return nil
}
