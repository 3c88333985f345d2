package executor

import (
	"context"
	"errors"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/password"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// authenticate does the steps that concern users and their passwords.
func (l *Executor) authenticate(ctx context.Context, s ops.State, step ops.Step) (ops.Result, error) {
	session, err := l.connect(ctx, s.Cluster)
	if err != nil {
		return ops.Result{}, err
	}
	a, ok := session.(engine.Authenticator)
	if !ok {
		return ops.Result{}, engine.ErrReadOnly
	}
	fact := ""
	switch step.Action {
	case ops.ActionCredentials:
		fact, err = v1alpha1.FactCredentials, l.createPasswords(ctx, s, step, a)
	case ops.ActionEnsureUser:
		fact, err = rules.FactUser(step.User), l.ensureUser(ctx, s, step.User, a)
	case ops.ActionDeleteUser:
		fact, err = rules.FactDeleted(step.User), l.deleteUser(ctx, s, step.User, a)
	case ops.ActionRotate:
		fact, err = rules.FactRotated(step.User), l.rotate(ctx, s, step.User, a)
	case ops.ActionDropOld:
		fact, err = rules.FactRotated(step.User), l.dropOld(ctx, s, step.User, a)
	case ops.ActionEnableAuth:
		err = a.EnableAuth(ctx)
	case ops.ActionDisableAuth:
		err = a.DisableAuth(ctx)
	default:
		fact, err = v1alpha1.FactProved, l.proveAuth(ctx, s, a)
	}
	if err != nil || fact == "" {
		return ops.Result{}, err
	}
	return ops.Result{Facts: map[string]string{fact: "done"}}, nil
}

// createPasswords makes the secrets of one user or of all. A user whom
// somebody else made has a password that others rely on, and is left alone.
func (l *Executor) createPasswords(ctx context.Context, s ops.State, step ops.Step, a engine.Authenticator) error {
	if step.User == "" {
		for _, u := range (rules.Situation{S: s}).Users() {
			if _, err := password.Ensure(ctx, l.Client, s.Cluster, u.Name, l.entries(s, u.Name)); err != nil {
				return err
			}
		}
		return nil
	}
	ours, err := password.Exists(ctx, l.Client, s.Cluster, step.User)
	if err != nil {
		return err
	}
	if !ours {
		users, err := a.Users(ctx)
		if err != nil {
			return err
		}
		for _, u := range users {
			if u.Name == step.User {
				return &ops.Error{Kind: ops.Refused, Check: "user",
					Message: fmt.Sprintf("the database has a user %s that this tool did not make", u.Name),
					Hint:    fmt.Sprintf("step back with kubectl dbop cancel %s, and choose another name", s.Cluster.Name)}
			}
		}
	}
	_, err = password.Ensure(ctx, l.Client, s.Cluster, step.User, l.entries(s, step.User))
	return err
}

// ensureUser makes the user whose name and password its secret holds: after a
// rotation that is its other name.
func (l *Executor) ensureUser(ctx context.Context, s ops.State, name string, a engine.Authenticator) error {
	has, err := password.Get(ctx, l.Client, l.Namespace, v1alpha1.PasswordSecret(s.Cluster.Name, name))
	if err != nil {
		return err
	}
	u := rules.UserNamed(s, name)
	u.Name = has.Current.User
	return a.EnsureUser(ctx, u, has.Current.Password)
}

func (l *Executor) deleteUser(ctx context.Context, s ops.State, name string, a engine.Authenticator) error {
	for _, n := range []string{name, SecondName(name)} {
		if err := a.DeleteUser(ctx, n); err != nil {
			return err
		}
	}
	return password.Delete(ctx, l.Client, s.Cluster, name)
}

// Users asks the database who its users are.
func (l *Executor) Users(ctx context.Context, c *v1alpha1.DatabaseCluster) ([]engine.User, error) {
	// Who can be asked is seen first.
	if _, err := l.Observe(ctx); err != nil {
		return nil, err
	}
	session, err := l.connect(ctx, c)
	if err != nil {
		return nil, err
	}
	lister, ok := session.(engine.UserLister)
	if !ok {
		return nil, &ops.Error{Kind: ops.Refused, Check: "users", Message: "this tool does not know the users of " +
			c.Spec.Engine}
	}
	return lister.Users(ctx)
}

// SecondName is the name that a user alternates with its own.
func SecondName(user string) string { return user + ".2" }

func otherName(user, present string) string {
	if present == SecondName(user) {
		return user
	}
	return SecondName(user)
}

// rotate writes the new password down, sets it, and lets the secret name it.
func (l *Executor) rotate(ctx context.Context, s ops.State, name string, a engine.Authenticator) error {
	u := rules.UserNamed(s, name)
	if _, err := password.Ensure(ctx, l.Client, s.Cluster, name, l.entries(s, name)); err != nil {
		return err
	}
	staged, err := password.Stage(ctx, l.Client, s.Cluster, name, s.Operation.Name, func(present string) string {
		if rules.InPlace(l.Engine, s.Cluster, u) {
			return name
		}
		return otherName(name, present)
	})
	if err != nil || staged == nil {
		return err
	}
	u.Name = staged.User
	if err := a.EnsureUser(ctx, u, staged.Password); err != nil {
		return err
	}
	return password.Promote(ctx, l.Client, s.Cluster, name, s.Operation.Name, l.entries(s, name))
}

// dropOld ends what the last rotation replaced.
func (l *Executor) dropOld(ctx context.Context, s ops.State, name string, a engine.Authenticator) error {
	has, err := password.Get(ctx, l.Client, l.Namespace, v1alpha1.PasswordSecret(s.Cluster.Name, name))
	if errors.Is(err, kube.ErrNotFound) || (err == nil && has.Former == nil) {
		return nil
	}
	if err != nil {
		return err
	}
	if has.Former.User != has.Current.User {
		if err := a.DeleteUser(ctx, has.Former.User); err != nil {
			return err
		}
	}
	return password.DropFormer(ctx, l.Client, s.Cluster, name)
}

// proveAuth tries it as the applications would.
func (l *Executor) proveAuth(ctx context.Context, s ops.State, a engine.Authenticator) error {
	config, err := pki.ApplicationTLS(ctx, l.Client, s.Cluster)
	if err != nil {
		return fmt.Errorf("read the applications' certificate: %w", err)
	}
	access := l.access(s.Cluster, config)
	access.Credentials = l.passwords(s.Cluster, v1alpha1.PasswordSecret(s.Cluster.Name, v1alpha1.ApplicationUser))
	return a.ProveAuth(ctx, access)
}

// passwords reads secrets, each time again; those that don't exist are passed over.
func (l *Executor) passwords(c *v1alpha1.DatabaseCluster,
	secrets ...string) func(context.Context) ([]engine.Credentials, error) {
	return func(ctx context.Context) ([]engine.Credentials, error) {
		var out []engine.Credentials
		var missing error
		for _, name := range secrets {
			has, err := password.ForLogin(ctx, l.Client, c, name)
			if errors.Is(err, kube.ErrNotFound) {
				missing = err
				continue
			}
			if err != nil {
				return nil, err
			}
			for _, p := range has.Usable() {
				out = append(out, engine.Credentials{User: p.User, Password: p.Password})
			}
		}
		if len(out) == 0 {
			return nil, missing
		}
		return out, nil
	}
}
