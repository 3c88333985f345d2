package executor

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/password"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// createPasswords makes the secrets of one user or of all. A user whom
// somebody else made has a password that others rely on, and is left alone.
func (l *Executor) createPasswords(ctx context.Context, a engine.Authenticator, t task) (ops.Result, error) {
	if t.User == "" {
		for _, u := range (rules.Situation{S: t.State}).Users() {
			if _, err := password.Ensure(ctx, l.Client, t.Cluster, u.Name, l.entries(t.State, u.Name)); err != nil {
				return ops.Result{}, err
			}
		}
		return done(v1alpha1.FactCredentials, nil)
	}
	ours, err := password.Exists(ctx, l.Client, t.Cluster, t.User)
	if err != nil {
		return ops.Result{}, err
	}
	if !ours {
		users, err := a.Users(ctx)
		if err != nil {
			return ops.Result{}, err
		}
		for _, u := range users {
			if u.Name == t.User {
				return ops.Result{}, &ops.Error{Kind: ops.Refused, Check: "user",
					Message: fmt.Sprintf("the database has a user %s that this tool did not make", u.Name),
					Hint:    fmt.Sprintf("step back with kubectl dbop cancel %s, and choose another name", t.Cluster.Name)}
			}
		}
	}
	_, err = password.Ensure(ctx, l.Client, t.Cluster, t.User, l.entries(t.State, t.User))
	return done(v1alpha1.FactCredentials, err)
}

// HasUser implements ops.UserJudge. The password goes nowhere: that it is in the secret is enough.
func (l *Executor) HasUser(ctx context.Context, s ops.State) bool {
	o := s.Operation.Spec
	if o.Verb != v1alpha1.VerbCreateUser || !o.FromUser || o.User == nil {
		return false
	}
	session, err := l.connect(ctx, s.Cluster)
	judge, judges := session.(engine.UserJudge)
	if err != nil || !judges {
		return false
	}
	has, whole := password.Whole(ctx, l.Client, s.Cluster, o.User.Name, l.entries(s, o.User.Name))
	if !whole {
		return false
	}
	u := rules.UserNamed(s, o.User.Name)
	u.Name = has.Current.User
	there, err := judge.HasUser(ctx, u)
	return err == nil && there
}

// ensureUser makes the user whose name and password its secret holds: after a
// rotation that is its other name.
func (l *Executor) ensureUser(ctx context.Context, a engine.Authenticator, t task) (ops.Result, error) {
	has, err := password.Get(ctx, l.Client, l.Namespace, v1alpha1.PasswordSecret(t.Cluster.Name, t.User))
	if err != nil {
		return ops.Result{}, err
	}
	u := rules.UserNamed(t.State, t.User)
	u.Name = has.Current.User
	return done(rules.FactUser(t.User), a.EnsureUser(ctx, u, has.Current.Password))
}

func (l *Executor) deleteUser(ctx context.Context, a engine.Authenticator, t task) (ops.Result, error) {
	for _, n := range []string{t.User, SecondName(t.User)} {
		if err := a.DeleteUser(ctx, n); err != nil {
			return ops.Result{}, err
		}
	}
	return done(rules.FactDeleted(t.User), password.Delete(ctx, l.Client, t.Cluster, t.User))
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
func (l *Executor) rotate(ctx context.Context, a engine.Authenticator, t task) (ops.Result, error) {
	s, name := t.State, t.User
	u := rules.UserNamed(s, name)
	if _, err := password.Ensure(ctx, l.Client, s.Cluster, name, l.entries(s, name)); err != nil {
		return ops.Result{}, err
	}
	staged, err := password.Stage(ctx, l.Client, s.Cluster, name, s.Operation.Name, func(present string) string {
		if rules.InPlace(l.Engine, s.Cluster, u) {
			return name
		}
		return otherName(name, present)
	})
	if err != nil || staged == nil {
		return done(rules.FactRotated(t.User), err)
	}
	u.Name = staged.User
	if err := a.EnsureUser(ctx, u, staged.Password); err != nil {
		return ops.Result{}, err
	}
	err = password.Promote(ctx, l.Client, s.Cluster, name, s.Operation.Name, l.entries(s, name))
	return done(rules.FactRotated(t.User), err)
}

// dropOld ends what the last rotation replaced.
func (l *Executor) dropOld(ctx context.Context, a engine.Authenticator, t task) (ops.Result, error) {
	has, err := password.Get(ctx, l.Client, l.Namespace, v1alpha1.PasswordSecret(t.Cluster.Name, t.User))
	if errors.Is(err, kube.ErrNotFound) || (err == nil && has.Former == nil) {
		return done(rules.FactRotated(t.User), nil)
	}
	if err != nil {
		return ops.Result{}, err
	}
	if has.Former.User != has.Current.User {
		if err := a.DeleteUser(ctx, has.Former.User); err != nil {
			return ops.Result{}, err
		}
	}
	return done(rules.FactRotated(t.User), password.DropFormer(ctx, l.Client, t.Cluster, t.User))
}

// proveAuth tries it as the applications would. Then the users are there, and a new cluster lacks its SQL at most.
func (l *Executor) proveAuth(ctx context.Context, a engine.Authenticator, t task) (ops.Result, error) {
	config, err := pki.ApplicationTLS(ctx, l.Client, t.Cluster)
	if err != nil {
		return ops.Result{}, fmt.Errorf("read the applications' certificate: %w", err)
	}
	access := l.access(t.Cluster, config)
	access.Credentials = l.passwords(t.Cluster, v1alpha1.PasswordSecret(t.Cluster.Name, v1alpha1.ApplicationUser))
	err = a.ProveAuth(ctx, access)
	if err == nil && t.Cluster.Spec.InitialSQL == nil {
		err = l.note(ctx, (*v1alpha1.Bootstrap).Finish)
	}
	return done(v1alpha1.FactProved, err)
}

func enableAuth(ctx context.Context, a engine.Authenticator, _ task) (ops.Result, error) {
	return ops.Result{}, a.EnableAuth(ctx)
}

func disableAuth(ctx context.Context, a engine.Authenticator, _ task) (ops.Result, error) {
	return ops.Result{}, a.DisableAuth(ctx)
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

// entries are what a user's secret holds beside the password: what an application needs to connect, by the keys that
// are usual for it.
func (l *Executor) entries(s ops.State, user string) password.Entries {
	c, ok := l.Engine.(engine.Connector)
	if !ok {
		return nil
	}
	way := c.Connections(s.Cluster, rules.UserNamed(s, user), nil)[0].URL
	return func(p password.Password) map[string]string {
		full := way
		full.User = url.UserPassword(p.User, p.Password)
		return map[string]string{"host": way.Hostname(), "port": way.Port(), "user": p.User,
			"dbname": strings.TrimPrefix(way.Path, "/"), "uri": full.String()}
	}
}
