package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// Users is the session of an engine whose clients always log in. It implements engine.Authenticator.
type Users struct{ *Session }

var (
	_ engine.Authenticator = Users{}
	_ engine.LoginTester   = Users{}
	_ engine.UserJudge     = Users{}
)

// Observe implements engine.Session.
func (u Users) Observe(ctx context.Context, members []string) engine.View {
	v := u.Session.Observe(ctx, members)
	for i := range v.Members {
		if v.Members[i].Reachable {
			v.Members[i].Auth = engine.AuthOn
		}
	}
	return v
}

// Users implements engine.UserLister.
func (u Users) Users(ctx context.Context) ([]engine.User, error) {
	var out []engine.User
	err := u.order(ctx, "list the users", func(ctx context.Context, c *api.Client) error {
		all, err := c.Users(ctx)
		for _, found := range all {
			user := engine.User{Name: found.Name, Admin: found.Admin, Role: found.Role}
			for _, g := range found.Grants {
				user.Grants = append(user.Grants, engine.Grant{Prefix: g.Name, ReadOnly: g.ReadOnly})
			}
			out = append(out, user)
		}
		return err
	})
	return out, err
}

// EnsureUser implements engine.Authenticator.
func (u Users) EnsureUser(ctx context.Context, user engine.User, password string) error {
	made := api.NewUser{User: userOf(user), Password: password}
	return u.order(ctx, "make user "+user.Name, func(ctx context.Context, c *api.Client) error {
		return c.EnsureUser(ctx, made)
	})
}

// HasUser implements engine.UserJudge.
func (u Users) HasUser(ctx context.Context, user engine.User) (has bool, err error) {
	err = u.order(ctx, "judge user "+user.Name, func(ctx context.Context, c *api.Client) error {
		has, err = c.HasUser(ctx, userOf(user))
		return err
	})
	return has, err
}

// userOf is a user in the words of an agent.
func userOf(user engine.User) api.User {
	out := api.User{Name: user.Name, Admin: user.Admin, Role: user.Role}
	for _, g := range user.Grants {
		out.Grants = append(out.Grants, api.Grant{Name: g.Prefix, ReadOnly: g.ReadOnly})
	}
	return out
}

// RunOnce implements engine.SQLRunner.
func (u Users) RunOnce(ctx context.Context, as engine.User, statements string) error {
	body := api.InitialSQL{Role: as.Role, Statements: statements}
	for _, g := range as.Grants {
		body.Database = g.Prefix
	}
	return u.order(ctx, "carry out the initial SQL", func(ctx context.Context, c *api.Client) error {
		why, err := c.InitialSQL(ctx, body)
		if err == nil && why != "" {
			err = &engine.Refusal{Check: "initial-sql", Reason: why}
		}
		return err
	})
}

// DeleteUser implements engine.Authenticator. It ends the user's sessions, too. Those on a member that does not answer,
// or that learns late that the user is gone, its agent ends by itself.
func (u Users) DeleteUser(ctx context.Context, name string) error {
	err := u.order(ctx, "delete user "+name, func(ctx context.Context, c *api.Client) error {
		return c.DeleteUser(ctx, name)
	})
	if err != nil {
		return err
	}
	for _, member := range u.known() {
		if c, err := u.client(member); err == nil {
			_ = c.EndSessions(ctx, name) // it only ends them sooner
		}
	}
	return nil
}

// EnableAuth implements engine.Authenticator: it is always on.
func (Users) EnableAuth(context.Context) error { return nil }

// DisableAuth implements engine.Authenticator.
func (Users) DisableAuth(context.Context) error {
	return &engine.Refusal{Check: "auth", Reason: "clients of this engine always log in",
		Hint: "a client certificate alone opens nothing; give users with kubectl dbop user create"}
}

// ProveAuth implements engine.Authenticator: the passwords in the secrets open the database, and another one does not.
func (u Users) ProveAuth(ctx context.Context, client engine.Access) error {
	for _, access := range []engine.Access{u.access, client} {
		if err := u.proveLogin(ctx, access); err != nil {
			return err
		}
	}
	accepted, err := u.TestLogin(ctx, engine.Credentials{User: "nobody", Password: "x"})
	if err == nil && accepted {
		err = errors.New("the database lets a user in that does not exist")
	}
	return err
}

// proveLogin tries the passwords that a secret holds: one of them must open the database.
func (u Users) proveLogin(ctx context.Context, access engine.Access) error {
	known, err := access.Credentials(ctx)
	if err != nil {
		return fmt.Errorf("read a password: %w", err)
	}
	user := ""
	for _, c := range known {
		user = c.User
		if accepted, err := u.TestLogin(ctx, c); err != nil || accepted {
			return err
		}
	}
	return fmt.Errorf("the database refuses the password of %q that its secret holds", user)
}

// TestLogin implements engine.LoginTester.
func (u Users) TestLogin(ctx context.Context, as engine.Credentials) (bool, error) {
	accepted := false
	err := u.order(ctx, "log in as "+as.User, func(ctx context.Context, c *api.Client) (err error) {
		accepted, err = c.TestLogin(ctx, as.User, as.Password)
		return err
	})
	return accepted, err
}
