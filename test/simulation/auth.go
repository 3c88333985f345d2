package simulation

import (
	"context"
	"fmt"
	"maps"
	"strconv"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/executor"
)

// access is what a body of data knows of users: part of the data, so it goes
// into backups and comes back with them.
type access struct {
	on bool
	// passwords by user.
	passwords map[string]string
}

func (a access) clone() access { return access{on: a.on, passwords: maps.Clone(a.passwords)} }

// login is a name and its password.
type login struct{ user, password string }

// secret is a user's secret, as applications read it.
type secret struct {
	login

	next, former *login
	rotation     string
}

// logins checks, wherever clients must log in, that who reads a secret of
// the cluster's own users gets in.
func (w *world) logins(cluster, what string) {
	c := w.records.clusters[cluster]
	if c == nil || c.Status.Bootstrap == nil {
		return
	}
	for _, g := range w.groups {
		if g.token != c.Status.Bootstrap.Token || !g.access.on || g.restored {
			continue
		}
		for _, user := range []string{v1alpha1.AdminUser, v1alpha1.ApplicationUser} {
			s, ok := w.shared(cluster).secrets[user]
			in := ok && g.access.passwords[s.user] == s.password
			if ok && !in && user == v1alpha1.AdminUser && s.next != nil {
				// Only the tool logs in as root, and it tries what is staged too.
				in = g.access.passwords[s.next.user] == s.next.password
			}
			if !in {
				w.violate("%s: who reads the secret of %s of %s is refused", what, user, cluster)
			}
		}
	}
}

// authenticate does the steps that concern users, request by request.
func (s *site) authenticate(ctx context.Context, st ops.State, step ops.Step) (ops.Result, error) {
	var err error
	fact := ""
	switch step.Action {
	case ops.ActionCredentials:
		fact = v1alpha1.FactCredentials
		for _, user := range []string{v1alpha1.AdminUser, v1alpha1.ApplicationUser} {
			if err = s.keep(ctx, user, func(*secret) {}); err != nil {
				return ops.Result{}, err
			}
		}
	case ops.ActionEnsureUser:
		fact = "user-" + step.User
		err = s.ask(ctx, st, step, func(g *group, secrets map[string]*secret) {
			g.access.passwords[secrets[step.User].user] = secrets[step.User].password
		})
		if err == nil && step.User == v1alpha1.ApplicationUser {
			err = s.ask(ctx, st, step, func(g *group, _ map[string]*secret) { g.restored = false })
		}
	case ops.ActionEnableAuth:
		err = s.ask(ctx, st, step, func(g *group, _ map[string]*secret) { g.access.on = true })
	case ops.ActionDisableAuth:
		err = s.ask(ctx, st, step, func(g *group, _ map[string]*secret) { g.access.on = false })
	case ops.ActionProveAuth:
		fact = v1alpha1.FactProved
		err = s.ask(ctx, st, step, func(*group, map[string]*secret) {})
	default:
		fact = "rotated-" + step.User
		err = s.rotate(ctx, st, step)
	}
	if err != nil || fact == "" {
		return ops.Result{}, err
	}
	return ops.Result{Facts: map[string]string{fact: "done"}}, nil
}

// rotate stages, sets and switches, as the live world does; root's name stays.
func (s *site) rotate(ctx context.Context, st ops.State, step ops.Step) error {
	user, op := step.User, st.Operation.Name
	if step.Action == ops.ActionDropOld {
		err := s.ask(ctx, st, step, func(g *group, secrets map[string]*secret) {
			if k := secrets[user]; k != nil && k.former != nil && k.former.user != k.user {
				delete(g.access.passwords, k.former.user)
			}
		})
		if err != nil {
			return err
		}
		return s.keep(ctx, user, func(k *secret) { k.former = nil })
	}
	done := false
	err := s.keep(ctx, user, func(k *secret) {
		if done = k.rotation == op; done || k.next != nil {
			return
		}
		name := user
		if user != v1alpha1.AdminUser && k.user == user {
			name = executor.SecondName(user)
		}
		k.next = &login{name, s.actor.world.newPassword()}
	})
	if err != nil || done {
		return err
	}
	err = s.ask(ctx, st, step, func(g *group, secrets map[string]*secret) {
		if k := secrets[user]; k.next != nil {
			g.access.passwords[k.next.user] = k.next.password
		}
	})
	if err != nil {
		return err
	}
	return s.keep(ctx, user, func(k *secret) {
		if k.next != nil {
			former := k.login
			k.login, k.former, k.next, k.rotation = *k.next, &former, nil, op
		}
	})
}

func (w *world) newPassword() string { return "password-" + strconv.Itoa(w.id()) }

// keep changes a user's secret, which is made first where it is missing.
func (s *site) keep(ctx context.Context, user string, change func(*secret)) error {
	return s.do(ctx, "secret of "+user, func() error {
		o := s.actor.world.shared(s.cluster)
		if o.secrets == nil {
			o.secrets = map[string]*secret{}
		}
		if o.secrets[user] == nil {
			o.secrets[user] = &secret{login: login{user, s.actor.world.newPassword()}}
		}
		change(o.secrets[user])
		s.actor.world.logins(s.cluster, "secret of "+user)
		return nil
	})
}

// ask makes one request of the database.
func (s *site) ask(ctx context.Context, st ops.State, step ops.Step, change func(*group, map[string]*secret)) error {
	w := s.actor.world
	return s.do(ctx, step.ID, func() error {
		g, _, err := w.asked(s.cluster, st.Cluster.Status.Bootstrap.Token)
		if err != nil {
			return err
		}
		secrets := w.shared(s.cluster).secrets
		if step.User != "" && secrets[step.User] == nil && step.Action == ops.ActionEnsureUser {
			return fmt.Errorf("no secret of %s: %w", step.User, engine.ErrRefused)
		}
		if g.access.passwords == nil {
			g.access.passwords = map[string]string{}
		}
		change(g, secrets)
		w.logins(s.cluster, step.ID)
		return nil
	})
}
