package users

import (
	"cmp"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// EnableAuth has clients log in. Users and passwords exist before it is enabled.
type EnableAuth struct{ rules.Plain }

// Manners implements rules.Operation.
func (EnableAuth) Manners() ops.Manners { return ops.Manners{StepsBack: ops.Anytime} }

// Check implements rules.Operation.
func (EnableAuth) Check(e engine.Engine, o v1alpha1.OperationSpec, _, _ *v1alpha1.DatabaseCluster) error {
	return CheckLogin(e)
}

// Default implements rules.Operation.
func (EnableAuth) Default(o *v1alpha1.OperationSpec, c *v1alpha1.DatabaseCluster) {
	o.FromAuth = new(c.Spec.Auth.Enabled)
}

// ApplyTo implements rules.Operation.
func (EnableAuth) ApplyTo(spec *v1alpha1.DatabaseClusterSpec, o v1alpha1.OperationSpec, back bool) {
	spec.Auth.Enabled = !back || o.FromAuth != nil && *o.FromAuth
}

// Steps implements rules.Operation.
func (EnableAuth) Steps() rules.Steps { return rules.Steps{Running: Authenticate} }

// Undo implements rules.Operation.
func (EnableAuth) Undo(u *rules.Undoing) error {
	switch from := u.Of.Spec.FromAuth; {
	case from == nil:
		return u.Unrecorded("whether clients had to log in before")
	case *from:
		return u.Idle()
	}
	u.Operation.Verb, u.Title = v1alpha1.VerbDisableAuth, "let clients in without logging in"
	u.Lost, u.Stays = []string{"the protection by users and their rights"}, []string{"users, passwords and secrets"}
	return nil
}

// CheckLogin refuses to have clients log in to an engine for which this tool makes no users.
func CheckLogin(e engine.Engine) error {
	if e.Capabilities().Users {
		return nil
	}
	return &engine.Refusal{Check: "users", Reason: "clients of " + e.Name() + " can't be made to log in by this tool"}
}

// Authenticate switches the demand to log in on or off. All who may log in exist before it is enabled, so that nobody
// is locked out on the way, and it counts as on once it was tried: the administrator and the applications may, a
// client without a name may not. Stepping back, and turning it off, leave users and passwords where they are.
func Authenticate(p rules.Situation) *ops.Decision {
	if d := p.QuorumFirst(); d != nil {
		return d
	}
	if p.S.Cluster.Spec.Auth.Enabled {
		return enableAuth(p)
	}
	return disableAuth(p)
}

func enableAuth(p rules.Situation) *ops.Decision {
	if p.S.Fact(v1alpha1.FactProved) != "" {
		return nil
	}
	if p.S.Fact(v1alpha1.FactCredentials) == "" {
		return p.Credentials(rules.EachOfItsOwn)
	}
	for _, u := range p.Users() {
		if p.S.Fact(rules.FactUser(u.Name)) == "" {
			return ensureUser(p.E, u)
		}
	}
	if p.S.View.Auth() != engine.AuthOn {
		return rules.Do(ops.Step{ID: "enable-auth", Action: ops.ActionEnableAuth, Risk: ops.RiskNone,
			Deadline: rules.StepDeadline,
			Title:    "Enable authentication",
			Reason:   "everybody who may log in exists; clients that do not log in are refused from now on"})
	}
	return rules.Do(ops.Step{ID: "prove-auth", Action: ops.ActionProveAuth, Risk: ops.RiskNone,
		Deadline: rules.StepDeadline,
		Title:    "Prove that the administrator and the applications may, and nobody without a name"})
}

func disableAuth(p rules.Situation) *ops.Decision {
	if p.S.View.Auth() == engine.AuthOff {
		return nil
	}
	return rules.Do(ops.Step{ID: "disable-auth", Action: ops.ActionDisableAuth, Risk: ops.RiskNone,
		Deadline: rules.StepDeadline,
		Title:    "Disable authentication", Reason: "users, passwords and secrets stay as they are"})
}

// ensureUser makes one user in the database, with the password of its secret.
func ensureUser(e engine.Engine, u engine.User) *ops.Decision {
	return rules.Do(ops.Step{ID: "ensure-user/" + u.Name, Action: ops.ActionEnsureUser, User: u.Name, Risk: ops.RiskNone,
		Deadline: rules.StepDeadline,
		Title:    "Make user " + u.Name + ", who " + mayDo(e, u)})
}

// mayDo says in words what a user may do: where databases speak SQL, a prefix is the name of one.
func mayDo(e engine.Engine, u engine.User) string {
	if u.Admin {
		return "may do everything"
	}
	verb, data := "may read and write ", "all data"
	if u.Grants[0].ReadOnly {
		verb = "may read "
	}
	switch prefix, can := u.Grants[0].Prefix, e.Capabilities(); {
	case can.SQL:
		data = fmt.Sprintf("database %q", cmp.Or(prefix, can.Database))
	case prefix == "":
	default:
		data = fmt.Sprintf("the data below %q", prefix)
	}
	return verb + data
}
