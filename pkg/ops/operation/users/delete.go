package users

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// Delete deletes one user and its secret.
type Delete struct{ rules.Plain }

// Manners implements rules.Operation.
func (Delete) Manners() ops.Manners { return ops.Manners{Same: sameUser} }

// Check implements rules.Operation.
func (Delete) Check(e engine.Engine, o v1alpha1.OperationSpec, c, _ *v1alpha1.DatabaseCluster) error {
	if err := CheckLogin(e); err != nil || o.User == nil {
		return err
	}
	name := o.User.Name
	switch {
	case ownUser(name):
		return refuseUser("kubectl dbop user auth disable "+c.Name+" lets everybody in",
			"%s belongs to the cluster and can't be deleted", name)
	case !listed(c.Spec.Auth, name):
		return unknownUser(c.Name, name)
	}
	return nil
}

// Default implements rules.Operation.
func (Delete) Default(o *v1alpha1.OperationSpec, c *v1alpha1.DatabaseCluster) {
	o.FromUser = o.User != nil && listed(c.Spec.Auth, o.User.Name)
}

// ApplyTo implements rules.Operation.
func (Delete) ApplyTo(spec *v1alpha1.DatabaseClusterSpec, o v1alpha1.OperationSpec, back bool) {
	listUser(&spec.Auth, *o.User, back && o.FromUser)
}

// Steps implements rules.Operation.
func (Delete) Steps() rules.Steps {
	return rules.Steps{Running: func(p rules.Situation) *ops.Decision {
		if d := p.QuorumFirst(); d != nil {
			return d
		}
		return deleteUser(p, engine.User{Name: p.S.Operation.Spec.User.Name})
	}}
}

// Undo implements rules.Operation.
func (Delete) Undo(u *rules.Undoing) error {
	of := u.Of.Spec
	return rules.NoUndo(of.Cluster, "the password of "+of.User.Name+" is gone with its secret",
		fmt.Sprintf("make the user again, with a new one: kubectl dbop user create %s %s", of.Cluster, of.User.Name))
}
