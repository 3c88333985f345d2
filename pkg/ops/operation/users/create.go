package users

import (
	"fmt"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// Create makes one user, with a password in a secret. A repeat makes what is missing of it, and neither stepping back
// from that nor undoing it deletes the user, who was there before.
type Create struct{ rules.Plain }

// Manners implements rules.Operation.
func (Create) Manners() ops.Manners { return ops.Manners{StepsBack: ops.Anytime, Same: sameUser} }

// Check implements rules.Operation.
func (Create) Check(e engine.Engine, o v1alpha1.OperationSpec, c, _ *v1alpha1.DatabaseCluster) error {
	if err := CheckLogin(e); err != nil || o.User == nil {
		return err
	}
	name := o.User.Name
	switch {
	case ownUser(name):
		return refuseUser("choose another name", "%s is made by auth enable, and is not made otherwise", name)
	case !nameOfUser.MatchString(name):
		return unfitName(name)
	}
	for _, u := range c.Spec.Auth.Users {
		if u.Name == name && u != *o.User {
			return refuseUser("delete it first: kubectl dbop user delete "+c.Name+" "+name,
				"%s exists already, with other rights", name)
		}
	}
	return checkUser(e, *o.User)
}

// Default implements rules.Operation.
func (Create) Default(o *v1alpha1.OperationSpec, c *v1alpha1.DatabaseCluster) {
	o.FromUser = o.User != nil && listed(c.Spec.Auth, o.User.Name)
}

// ApplyTo implements rules.Operation.
func (Create) ApplyTo(spec *v1alpha1.DatabaseClusterSpec, o v1alpha1.OperationSpec, back bool) {
	listUser(&spec.Auth, *o.User, !back || o.FromUser)
}

// Steps implements rules.Operation.
func (Create) Steps() rules.Steps {
	return rules.Steps{Running: func(p rules.Situation) *ops.Decision {
		if d := p.QuorumFirst(); d != nil {
			return d
		}
		u := engine.User{Name: p.S.Operation.Spec.User.Name}
		switch {
		case p.S.Cancelling():
			if p.S.Operation.Spec.FromUser {
				return nil
			}
			return deleteUser(p, u)
		case p.S.HasUser:
			return nil
		case p.S.Fact(v1alpha1.FactCredentials) == "":
			return rules.Do(ops.Step{ID: "create-credentials/" + u.Name, Action: ops.ActionCredentials, User: u.Name,
				Risk:     ops.RiskNone,
				Deadline: rules.StepDeadline, Title: "Generate a password for " + u.Name,
				Touches: rules.PasswordSecrets(p.S.Cluster, u)})
		case p.S.Fact(rules.FactUser(u.Name)) == "":
			return ensureUser(p.E, rules.UserNamed(p.S, u.Name))
		}
		return nil
	}}
}

// Undo implements rules.Operation.
func (Create) Undo(u *rules.Undoing) error {
	if u.Of.Spec.FromUser {
		return u.Idle()
	}
	name := u.Of.Spec.User.Name
	u.Operation.Verb, u.Operation.User = v1alpha1.VerbDeleteUser, &v1alpha1.DatabaseUser{Name: name}
	u.Title, u.Lost = "delete user "+name, []string{"access of every client that logs in as " + name}
	return nil
}

// listUser lists the user in the cluster's spec, or takes it out.
func listUser(auth *v1alpha1.Auth, u v1alpha1.DatabaseUser, wanted bool) {
	auth.Users = slices.DeleteFunc(slices.Clone(auth.Users),
		func(o v1alpha1.DatabaseUser) bool { return o.Name == u.Name })
	if wanted {
		auth.Users = append(auth.Users, u)
	}
}

// listed reports whether the cluster's spec lists a user.
func listed(auth v1alpha1.Auth, name string) bool {
	return slices.ContainsFunc(auth.Users, func(u v1alpha1.DatabaseUser) bool { return u.Name == name })
}

func refuseUser(hint, reason string, args ...any) error {
	return &engine.Refusal{Check: "user", Reason: fmt.Sprintf(reason, args...), Hint: hint}
}
