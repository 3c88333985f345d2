package planner

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// nameOfUser is what fits the name of a secret. It has no dot, which tells the
// second name of a user from another user.
var nameOfUser = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// userChange makes or deletes the one user that was asked for.
func (p Planner) userChange() *ops.Decision {
	verb := p.S.Verb()
	if verb != v1alpha1.VerbCreateUser && verb != v1alpha1.VerbDeleteUser {
		return nil
	}
	if d := p.quorumFirst(); d != nil {
		return d
	}
	u := engine.User{Name: p.S.Operation.Spec.User.Name}
	if verb == v1alpha1.VerbDeleteUser || p.S.Cancelling() {
		return p.deleteUser(u)
	}
	if p.S.Fact(v1alpha1.FactCredentials) == "" {
		return do(ops.Step{ID: "create-credentials/" + u.Name, Action: ops.ActionCredentials, User: u.Name, Risk: ops.RiskNone, Deadline: StepDeadline,
			Title: "Generate a password for " + u.Name, Touches: passwordSecrets(p.S.Cluster, u)})
	}
	if p.S.Fact(FactUser(u.Name)) == "" {
		return p.ensureUser(UserNamed(p.S, u.Name))
	}
	return nil
}

func (p Planner) deleteUser(u engine.User) *ops.Decision {
	if p.S.Fact(FactDeleted(u.Name)) != "" {
		return nil
	}
	// Stepping back from a creation that made nothing must not touch a user who
	// was there before.
	if p.S.Cancelling() && p.S.Fact(v1alpha1.FactCredentials) == "" {
		return nil
	}
	return do(ops.Step{ID: "delete-user/" + u.Name, Action: ops.ActionDeleteUser, User: u.Name, Risk: ops.RiskIrreversible, Deadline: StepDeadline,
		Title: "Delete user " + u.Name + " and its secret", Reason: "whoever is logged in with it is turned away", Touches: passwordSecrets(p.S.Cluster, u)})
}

// FactDeleted is the fact that a user was deleted.
func FactDeleted(name string) string { return "deleted-" + name }

// rotation gives users new passwords. etcd has one password a user, and ends
// every login of a user whose password changes. So a user gets the new one
// under its other name, and both are valid until everybody has reloaded the
// secret; the old one ends with a request of its own.
func (p Planner) rotation() *ops.Decision {
	if p.S.Verb() != v1alpha1.VerbRotateCredentials || p.S.Cancelling() {
		return nil
	}
	if d := p.quorumFirst(); d != nil {
		return d
	}
	o := p.S.Operation.Spec
	for _, u := range p.Users() {
		if (o.User != nil && o.User.Name != u.Name) || p.S.Fact(FactRotated(u.Name)) != "" {
			continue
		}
		step := ops.Step{ID: "rotate-credentials/" + u.Name, Action: ops.ActionRotate, User: u.Name, Risk: ops.RiskNone, Deadline: StepDeadline,
			Title: "Give " + u.Name + " a new password", Touches: passwordSecrets(p.S.Cluster, u)}
		switch {
		case o.DropOld:
			step.ID, step.Action, step.Risk = "drop-credentials/"+u.Name, ops.ActionDropOld, ops.RiskIrreversible
			step.Title, step.Reason = "End the password that "+u.Name+" had before", "who has not reloaded the secret is turned away"
		case !InPlace(p.S.Cluster, u):
			step.Title, step.Reason = "Give "+u.Name+" a second name with a new password", "the first stays valid until it is dropped"
		}
		return do(step)
	}
	return nil
}

// InPlace reports whether a user's password is changed under its own name: the
// administrator's is the tool's own, and a name that certificates bear must stay.
func InPlace(c *v1alpha1.DatabaseCluster, u engine.User) bool {
	return u.Admin || (u.Name == v1alpha1.ApplicationUser && !c.Spec.TLS.Disabled)
}

// FactRotated is the fact that the password of a user was changed.
func FactRotated(name string) string { return "rotated-" + name }

// checkUsers judges a request about users by what the engine knows, and what
// is recorded.
func checkUsers(e engine.Engine, o v1alpha1.OperationSpec, c *v1alpha1.DatabaseCluster) error {
	switch o.Verb {
	case v1alpha1.VerbEnableAuth, v1alpha1.VerbDisableAuth, v1alpha1.VerbCreateUser, v1alpha1.VerbDeleteUser, v1alpha1.VerbRotateCredentials:
	case v1alpha1.VerbCreate:
		if !c.Spec.Auth.Enabled {
			return nil
		}
	default:
		return nil
	}
	if !e.Capabilities().Users {
		return &engine.Refusal{Check: "users", Reason: "clients of " + e.Name() + " can't be made to log in by this tool"}
	}
	if o.Verb == v1alpha1.VerbCreate {
		return checkNames(c.Spec.Auth.Users)
	}
	if o.User == nil {
		return nil
	}
	name := o.User.Name
	own := ownUser(name)
	listed := slices.ContainsFunc(c.Spec.Auth.Users, func(u v1alpha1.DatabaseUser) bool { return u.Name == name })
	refuse := func(hint, reason string, args ...any) error {
		return &engine.Refusal{Check: "user", Reason: fmt.Sprintf(reason, args...), Hint: hint}
	}
	switch o.Verb {
	case v1alpha1.VerbCreateUser:
		switch {
		case own:
			return refuse("choose another name", "%s is made by auth enable, and is not made otherwise", name)
		case !nameOfUser.MatchString(name):
			return unfitName(name)
		}
		for _, u := range c.Spec.Auth.Users {
			if u.Name == name && u != *o.User {
				return refuse("delete it first: kubectl dbop user delete "+c.Name+" "+name, "%s exists already, with other rights", name)
			}
		}
	case v1alpha1.VerbDeleteUser:
		switch {
		case own:
			return refuse("kubectl dbop user auth disable "+c.Name+" lets everybody in", "%s belongs to the cluster and can't be deleted", name)
		case !listed:
			return unknownUser(c.Name, name)
		}
	case v1alpha1.VerbRotateCredentials:
		if !own && !listed {
			return unknownUser(c.Name, name)
		}
	}
	return nil
}

// ownUser reports whether every cluster where clients log in has that user.
func ownUser(name string) bool {
	return name == v1alpha1.AdminUser || name == v1alpha1.ApplicationUser
}

func unknownUser(cluster, name string) error {
	return &engine.Refusal{Check: "user", Unknown: true, Reason: name + " was not made by this tool",
		Hint: "kubectl dbop user list " + cluster + " shows who there is"}
}

func unfitName(name string) error {
	return &engine.Refusal{Check: "user", Unknown: true, Reason: fmt.Sprintf("%q can't be the name of a user: a secret is named after it", name),
		Hint: "lower case letters, digits and dashes, such as billing-2"}
}

// checkNames judges the users that a cluster is founded with, which a manifest lists.
func checkNames(users []v1alpha1.DatabaseUser) error {
	for _, u := range users {
		if !nameOfUser.MatchString(u.Name) {
			return unfitName(u.Name)
		}
		if ownUser(u.Name) {
			return &engine.Refusal{Check: "user", Reason: u.Name + " is there without being listed", Hint: "leave it out of spec.auth.users"}
		}
	}
	return nil
}

// checkRootPassword refuses to restore what nobody could log in to.
func checkRootPassword(o v1alpha1.OperationSpec, c *v1alpha1.DatabaseCluster) error {
	from := o.Source
	if from == nil || !from.Auth || from.RootSecret != "" || !c.Spec.TLS.Disabled || (o.InPlace && c.Spec.Auth.Enabled) {
		return nil
	}
	return &engine.Refusal{Check: "root-password", Reason: fmt.Sprintf("backup %s demands the administrator's password, and without TLS no certificate stands in for it", from.Backup),
		Hint: "name the secret that holds the password of that time: --root-password-secret NAME (that of the cluster that was backed up, if it still exists, is its name followed by -root)"}
}
