package rules

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// FactDeleted is the fact that a user was deleted.
func FactDeleted(name string) string { return "deleted-" + name }

// InPlace reports whether a user's password is changed under its own name: the
// administrator's is the tool's own, and a name by which certificates log in must
// stay. Where clients always log in, by password, certificates log nobody in.
func InPlace(e engine.Engine, c *v1alpha1.DatabaseCluster, u engine.User) bool {
	certified := !c.Spec.TLS.Disabled && !e.Capabilities().Login
	return u.Admin || u.Name == v1alpha1.ApplicationUser && certified
}

// FactRotated is the fact that the password of a user was changed.
func FactRotated(name string) string { return "rotated-" + name }

// EachOfItsOwn says where passwords are kept.
const EachOfItsOwn = "each is kept in a secret of its own"

// Credentials writes the passwords down. A cluster that is founded with
// authentication gets them before its first member.
func (p Situation) Credentials(reason string) *ops.Decision {
	return Do(ops.Step{ID: "create-credentials", Action: ops.ActionCredentials, Risk: ops.RiskNone,
		Deadline: StepDeadline,
		Title:    "Generate passwords", Reason: reason, Touches: PasswordSecrets(p.S.Cluster, p.Users()...)})
}

// Users are all that the cluster has, in the order in which they are made.
func (p Situation) Users() []engine.User {
	out := []engine.User{UserNamed(p.S, v1alpha1.AdminUser), UserNamed(p.S, v1alpha1.ApplicationUser)}
	for _, u := range p.S.Cluster.Spec.Auth.Users {
		out = append(out, UserNamed(p.S, u.Name))
	}
	return out
}

// UserNamed is what a user may do: the administrator everything, the
// applications' user read and write all data, any other what was asked for.
func UserNamed(s ops.State, name string) engine.User {
	if name == v1alpha1.AdminUser {
		return engine.User{Name: name, Admin: true}
	}
	grant := engine.Grant{}
	for _, u := range s.Cluster.Spec.Auth.Users {
		if u.Name == name {
			grant = engine.Grant{Prefix: u.Prefix, ReadOnly: u.ReadOnly}
		}
	}
	return engine.User{Name: name, Role: name, Grants: []engine.Grant{grant}}
}

// PasswordSecrets are the secrets of users, as KIND/NAME.
func PasswordSecrets(c *v1alpha1.DatabaseCluster, users ...engine.User) []string {
	out := make([]string, len(users))
	for i, u := range users {
		out[i] = "secret/" + v1alpha1.PasswordSecret(c.Name, u.Name)
	}
	return out
}

// FactUser is noted of each user that was made: the database is not asked for
// its users at every observation, because the question goes through its log.
func FactUser(name string) string { return "user-" + name }
