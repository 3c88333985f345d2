package users

import (
	"fmt"
	"regexp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// Rotate gives users new passwords, or ends those that a rotation left valid.
type Rotate struct{ rules.Plain }

// Manners implements rules.Operation.
func (Rotate) Manners() ops.Manners {
	return ops.Manners{StepsBack: ops.Anytime, Same: sameUser}
}

// Check implements rules.Operation.
func (Rotate) Check(e engine.Engine, o v1alpha1.OperationSpec, c, _ *v1alpha1.DatabaseCluster) error {
	if err := CheckLogin(e); err != nil || o.User == nil {
		return err
	}
	if name := o.User.Name; !ownUser(name) && !listed(c.Spec.Auth, name) {
		return unknownUser(c.Name, name)
	}
	return nil
}

// Steps implements rules.Operation.
func (Rotate) Steps() rules.Steps { return rules.Steps{Running: rotation} }

// Undo implements rules.Operation.
func (Rotate) Undo(u *rules.Undoing) error {
	name := u.Of.Spec.Cluster
	return rules.NoUndo(name, "a password that was renewed or ended does not come back", "kubectl dbop user rotate "+name+
		" gives new ones")
}

// nameOfUser is what fits the name of a secret. It has no dot, which tells the
// second name of a user from another user.
var nameOfUser = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

func deleteUser(p rules.Situation, u engine.User) *ops.Decision {
	if p.S.Fact(rules.FactDeleted(u.Name)) != "" {
		return nil
	}
	// Stepping back from a creation that made nothing must not touch a user whom
	// something else made in the database.
	if p.S.Cancelling() && p.S.Fact(v1alpha1.FactCredentials) == "" {
		return nil
	}
	return rules.Do(ops.Step{ID: "delete-user/" + u.Name, Action: ops.ActionDeleteUser, User: u.Name,
		Risk: ops.RiskIrreversible, Deadline: rules.StepDeadline,
		Title: "Delete user " + u.Name + " and its secret", Reason: "clients that are logged in with it are refused",
		Touches: rules.PasswordSecrets(p.S.Cluster, u)})
}

// rotation gives users new passwords. etcd has one password a user, and ends
// every login of a user whose password changes. So a user gets the new one
// under its other name, and both are valid until everybody has reloaded the
// secret; the old one ends with a request of its own.
func rotation(p rules.Situation) *ops.Decision {
	if p.S.Cancelling() {
		return nil
	}
	if d := p.QuorumFirst(); d != nil {
		return d
	}
	o := p.S.Operation.Spec
	for _, u := range p.Users() {
		if (o.User != nil && o.User.Name != u.Name) || p.S.Fact(rules.FactRotated(u.Name)) != "" {
			continue
		}
		step := ops.Step{ID: "rotate-credentials/" + u.Name, Action: ops.ActionRotate, User: u.Name, Risk: ops.RiskNone,
			Deadline: rules.StepDeadline,
			Title:    "Give " + u.Name + " a new password", Touches: rules.PasswordSecrets(p.S.Cluster, u)}
		switch {
		case o.DropOld:
			step.ID, step.Action, step.Risk = "drop-credentials/"+u.Name, ops.ActionDropOld, ops.RiskIrreversible
			step.Title, step.Reason = "End the password that "+u.Name+" had before",
				"clients that have not read the secret again are refused"
		case !rules.InPlace(p.E, p.S.Cluster, u):
			step.Title, step.Reason = "Give "+u.Name+" a second name with a new password",
				"the first stays valid until it is dropped"
		}
		return rules.Do(step)
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
	return &engine.Refusal{Check: "user", Unknown: true, Reason: fmt.Sprintf(
		"%q can't be the name of a user: a secret is named after it", name),
		Hint: "lower case letters, digits and dashes, such as billing-2"}
}

// CheckNames judges the users that a cluster is founded with, which a manifest lists.
func CheckNames(e engine.Engine, users []v1alpha1.DatabaseUser) error {
	for _, u := range users {
		if !nameOfUser.MatchString(u.Name) {
			return unfitName(u.Name)
		}
		if ownUser(u.Name) {
			return &engine.Refusal{Check: "user", Reason: u.Name + " is there without being listed",
				Hint: "leave it out of spec.auth.users"}
		}
		if err := checkUser(e, u); err != nil {
			return err
		}
	}
	return nil
}

// checkUser asks the engine, if it has rules of its own.
func checkUser(e engine.Engine, u v1alpha1.DatabaseUser) error {
	if c, ok := e.(engine.UserChecker); ok {
		return c.CheckUser(u)
	}
	return nil
}

// CheckRootPassword refuses to restore what nobody could log in to.
func CheckRootPassword(o v1alpha1.OperationSpec, c *v1alpha1.DatabaseCluster) error {
	from := o.Source
	if from == nil || !from.Auth || from.RootSecret != "" || !c.Spec.TLS.Disabled || (o.InPlace && c.Spec.Auth.Enabled) {
		return nil
	}
	return &engine.Refusal{Check: "root-password", Reason: fmt.Sprintf(
		"backup %s demands the administrator's password, and without TLS no certificate replaces it", from.Backup),
		Hint: "name the secret that holds the password of that time: --root-password-secret NAME (that of the cluster " +
			"that was backed up, if it still exists, is its name followed by -root)"}
}

// sameUser reports whether two requests are about the same user, or about all, and end the same.
func sameUser(have, asked v1alpha1.OperationSpec) bool {
	return have.DropOld == asked.DropOld && (have.User == nil) == (asked.User == nil) &&
		(have.User == nil || have.User.Name == asked.User.Name)
}
