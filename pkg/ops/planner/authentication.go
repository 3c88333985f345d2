package planner

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// authentication turns the demand to log in on or off. Everybody who may log
// in exists before it is turned on, so that nobody is locked out on the way,
// and it counts as on once it was tried: the administrator and the
// applications may, somebody without a name may not. Stepping back, and turning
// it off, leave users and passwords where they are.
func (p Planner) authentication() *ops.Decision {
	switch p.S.Verb() {
	case v1alpha1.VerbEnableAuth, v1alpha1.VerbDisableAuth:
	case v1alpha1.VerbCreate, v1alpha1.VerbRestore:
		// What a restored cluster brings along, or what it had before, must hold
		// again before it grows.
		if !p.S.Cluster.Spec.Auth.Enabled {
			return nil
		}
		if p.S.Verb() == v1alpha1.VerbCreate && p.fresh() && p.S.View.Auth() == engine.AuthOn {
			return nil // created by an earlier operation, which proved it
		}
	default:
		return nil
	}
	if d := p.quorumFirst(); d != nil {
		return d
	}
	if p.S.Cluster.Spec.Auth.Enabled {
		return p.enableAuth()
	}
	return p.disableAuth()
}

func (p Planner) enableAuth() *ops.Decision {
	if p.S.Fact(v1alpha1.FactProved) != "" {
		return nil
	}
	if p.S.Fact(v1alpha1.FactCredentials) == "" {
		return p.credentials(eachOfItsOwn)
	}
	for _, u := range p.Users() {
		if p.S.Fact(FactUser(u.Name)) == "" {
			return p.ensureUser(u)
		}
	}
	if p.S.View.Auth() != engine.AuthOn {
		return do(ops.Step{ID: "enable-auth", Action: ops.ActionEnableAuth, Risk: ops.RiskNone, Deadline: StepDeadline,
			Title: "Turn authentication on", Reason: "everybody who may log in exists; who does not log in is turned away from now on"})
	}
	return do(ops.Step{ID: "prove-auth", Action: ops.ActionProveAuth, Risk: ops.RiskNone, Deadline: StepDeadline,
		Title: "Prove that the administrator and the applications may, and nobody without a name"})
}

const eachOfItsOwn = "each is kept in a secret of its own"

// credentials writes the passwords down. A cluster that is founded with
// authentication gets them before its first member.
func (p Planner) credentials(reason string) *ops.Decision {
	return do(ops.Step{ID: "create-credentials", Action: ops.ActionCredentials, Risk: ops.RiskNone, Deadline: StepDeadline,
		Title: "Generate passwords", Reason: reason, Touches: passwordSecrets(p.S.Cluster, p.Users()...)})
}

func (p Planner) disableAuth() *ops.Decision {
	if p.S.View.Auth() == engine.AuthOff {
		return nil
	}
	return do(ops.Step{ID: "disable-auth", Action: ops.ActionDisableAuth, Risk: ops.RiskNone, Deadline: StepDeadline,
		Title: "Turn authentication off", Reason: "users, passwords and secrets stay as they are"})
}

// ensureUser makes one user in the database, with the password of its secret.
func (p Planner) ensureUser(u engine.User) *ops.Decision {
	return do(ops.Step{ID: "ensure-user/" + u.Name, Action: ops.ActionEnsureUser, User: u.Name, Risk: ops.RiskNone, Deadline: StepDeadline,
		Title: "Make user " + u.Name + ", who " + mayDo(u)})
}

// Users are all that the cluster has, in the order in which they are made.
func (p Planner) Users() []engine.User {
	out := []engine.User{UserNamed(p.S, v1alpha1.AdminUser), UserNamed(p.S, v1alpha1.ApplicationUser)}
	for _, u := range p.S.Cluster.Spec.Auth.Users {
		out = append(out, UserNamed(p.S, u.Name))
	}
	return out
}

// UserNamed is what a user may do: the administrator everything, the
// applications' user read and write every key, any other what was asked for.
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

// mayDo says in words what a user may do.
func mayDo(u engine.User) string {
	if u.Admin {
		return "may do everything"
	}
	verb, keys := "may read and write ", "every key"
	if u.Grants[0].ReadOnly {
		verb = "may read "
	}
	if prefix := u.Grants[0].Prefix; prefix != "" {
		keys = fmt.Sprintf("the keys below %q", prefix)
	}
	return verb + keys
}

func passwordSecrets(c *v1alpha1.DatabaseCluster, users ...engine.User) []string {
	out := make([]string, len(users))
	for i, u := range users {
		out[i] = "secret/" + v1alpha1.PasswordSecret(c.Name, u.Name)
	}
	return out
}

// FactUser is noted of each user that was made: the database is not asked for
// its users at every look, because the question goes through its log.
func FactUser(name string) string { return "user-" + name }

// bornWith is whether a cluster that founds itself demands a login: if its
// data comes from a backup that does.
func bornWith(s ops.State) string {
	if s.Operation != nil && s.Operation.Spec.Source != nil && s.Operation.Spec.Source.Auth {
		return engine.AuthOn
	}
	return engine.AuthOff
}
