package ops

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// authentication turns the demand to log in on or off. Everybody who may log
// in exists before it is turned on, so that nobody is locked out on the way,
// and it counts as on once it was tried: the administrator and the
// applications may, somebody without a name may not. Stepping back, and turning
// it off, leave users and passwords where they are.
func (p planner) authentication() *Decision {
	switch p.s.verb() {
	case v1alpha1.VerbEnableAuth, v1alpha1.VerbDisableAuth:
	case v1alpha1.VerbCreate, v1alpha1.VerbRestore:
		// What a restored cluster brings along, or what it had before, must hold
		// again before it grows.
		if !p.s.Cluster.Spec.Auth.Enabled {
			return nil
		}
		if p.s.verb() == v1alpha1.VerbCreate && p.fresh() && p.s.View.Auth() == engine.AuthOn {
			return nil // created by an earlier operation, which proved it
		}
	default:
		return nil
	}
	if d := p.quorumFirst(); d != nil {
		return d
	}
	if p.s.Cluster.Spec.Auth.Enabled {
		return p.enableAuth()
	}
	return p.disableAuth()
}

func (p planner) enableAuth() *Decision {
	if p.s.fact(v1alpha1.FactProved) != "" {
		return nil
	}
	if p.s.fact(v1alpha1.FactCredentials) == "" {
		return p.credentials(eachOfItsOwn)
	}
	for _, u := range p.users() {
		if p.s.fact(factUser(u.Name)) == "" {
			return p.ensureUser(u)
		}
	}
	if p.s.View.Auth() != engine.AuthOn {
		return do(Step{ID: "enable-auth", Action: ActionEnableAuth, Risk: RiskNone, Deadline: stepDeadline,
			Title: "Turn authentication on", Reason: "everybody who may log in exists; who does not log in is turned away from now on"})
	}
	return do(Step{ID: "prove-auth", Action: ActionProveAuth, Risk: RiskNone, Deadline: stepDeadline,
		Title: "Prove that the administrator and the applications may, and nobody without a name"})
}

const eachOfItsOwn = "each is kept in a secret of its own"

// credentials writes the passwords down. A cluster that is founded with
// authentication gets them before its first member.
func (p planner) credentials(reason string) *Decision {
	return do(Step{ID: "create-credentials", Action: ActionCredentials, Risk: RiskNone, Deadline: stepDeadline,
		Title: "Generate passwords", Reason: reason, Touches: passwordSecrets(p.s.Cluster, p.users()...)})
}

func (p planner) disableAuth() *Decision {
	if p.s.View.Auth() == engine.AuthOff {
		return nil
	}
	return do(Step{ID: "disable-auth", Action: ActionDisableAuth, Risk: RiskNone, Deadline: stepDeadline,
		Title: "Turn authentication off", Reason: "users, passwords and secrets stay as they are"})
}

// ensureUser makes one user in the database, with the password of its secret.
func (p planner) ensureUser(u engine.User) *Decision {
	return do(Step{ID: "ensure-user/" + u.Name, Action: ActionEnsureUser, User: u.Name, Risk: RiskNone, Deadline: stepDeadline,
		Title: "Make user " + u.Name + ", who " + mayDo(u)})
}

// users are all that the cluster has, in the order in which they are made.
func (p planner) users() []engine.User {
	out := []engine.User{userNamed(p.s, v1alpha1.AdminUser), userNamed(p.s, v1alpha1.ApplicationUser)}
	for _, u := range p.s.Cluster.Spec.Auth.Users {
		out = append(out, userNamed(p.s, u.Name))
	}
	return out
}

// userNamed is what a user may do: the administrator everything, the
// applications' user read and write every key, any other what was asked for.
func userNamed(s State, name string) engine.User {
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

// factUser is noted of each user that was made: the database is not asked for
// its users at every look, because the question goes through its log.
func factUser(name string) string { return "user-" + name }

// bornWith is whether a cluster that founds itself demands a login: if its
// data comes from a backup that does.
func (s State) bornWith() string {
	if s.Operation != nil && s.Operation.Spec.Source != nil && s.Operation.Spec.Source.Auth {
		return engine.AuthOn
	}
	return engine.AuthOff
}

// setAuth lets every member demand a login, or not.
func (s *State) setAuth(auth string) {
	for i := range s.View.Members {
		s.View.Members[i].Auth = auth
	}
}
