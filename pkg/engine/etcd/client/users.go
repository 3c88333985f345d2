package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/authpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// The user and the role that etcd itself knows: nobody can switch authentication
// on without them, and the role may do everything.
const (
	rootUser = "root"
	rootRole = "root"
)

// everyKey is a range from the first key to the last, as etcd writes it.
const everyKey = "\x00"

// Users implements engine.UserLister.
func (s *Session) Users(ctx context.Context) ([]engine.User, error) {
	var users []engine.User
	err := s.atLeader(ctx, func(ctx context.Context, c *Connection) error {
		list, err := c.Client.UserList(ctx)
		if err != nil {
			return err
		}
		for _, name := range list.Users {
			u, err := readUser(ctx, c.Client, name)
			if err != nil {
				return err
			}
			users = append(users, u)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the users: %w", err)
	}
	slices.SortFunc(users, func(a, b engine.User) int { return strings.Compare(a.Name, b.Name) })
	return users, nil
}

func readUser(ctx context.Context, c *clientv3.Client, name string) (engine.User, error) {
	u := engine.User{Name: name}
	got, err := c.UserGet(ctx, name)
	if err != nil {
		return u, err
	}
	for _, role := range got.Roles {
		if role == rootRole {
			u.Admin = true
			continue
		}
		u.Role = role
		permissions, err := c.RoleGet(ctx, role)
		if err != nil {
			return u, err
		}
		for _, p := range permissions.Perm {
			u.Grants = append(u.Grants, grantFrom(p))
		}
	}
	return u, nil
}

// permission is a grant in etcd's words.
func permission(g engine.Grant) *authpb.Permission {
	p := &authpb.Permission{PermType: authpb.Permission_READWRITE, Key: []byte(g.Prefix),
		RangeEnd: []byte(clientv3.GetPrefixRangeEnd(g.Prefix))}
	if g.Prefix == "" {
		p.Key, p.RangeEnd = []byte(everyKey), []byte(everyKey)
	}
	if g.ReadOnly {
		p.PermType = authpb.Permission_READ
	}
	return p
}

// grantFrom reads a permission; one that is no prefix is spelled out.
func grantFrom(p *authpb.Permission) engine.Grant {
	g := engine.Grant{Prefix: string(p.Key), ReadOnly: p.PermType == authpb.Permission_READ}
	switch {
	case string(p.Key) == everyKey && string(p.RangeEnd) == everyKey:
		g.Prefix = ""
	case string(p.RangeEnd) != clientv3.GetPrefixRangeEnd(g.Prefix):
		g.Prefix = fmt.Sprintf("[%s, %s)", p.Key, p.RangeEnd)
	}
	return g
}

// HasUser implements engine.UserJudge.
func (s *Session) HasUser(ctx context.Context, u engine.User) (bool, error) {
	users, err := s.Users(ctx)
	return slices.ContainsFunc(users, func(is engine.User) bool {
		return is.Name == u.Name && is.Admin == u.Admin && is.Role == u.Role && slices.Equal(is.Grants, u.Grants)
	}), err
}

// EnsureUser implements engine.Authenticator.
func (s *Session) EnsureUser(ctx context.Context, u engine.User, password string) error {
	err := s.atLeader(ctx, func(ctx context.Context, c *Connection) error {
		role := rootRole
		if !u.Admin {
			role = u.Role
		}
		if err := ensureRole(ctx, c.Client, role, u.Grants); err != nil {
			return err
		}
		if err := ensurePassword(ctx, c, engine.Credentials{User: u.Name, Password: password}); err != nil {
			return err
		}
		return ensureRoles(ctx, c.Client, u.Name, role)
	})
	if err != nil {
		return fmt.Errorf("make user %s: %w", u.Name, err)
	}
	return nil
}

// TestLogin implements engine.LoginTester. A user that does not exist is
// refused as a wrong password is.
func (s *Session) TestLogin(ctx context.Context, as engine.Credentials) (accepted bool, err error) {
	err = s.atLeader(ctx, func(ctx context.Context, c *Connection) error {
		_, err := authenticate(ctx, c.Client.ActiveConnection(), as)
		accepted = err == nil
		if errors.Is(err, rpctypes.ErrAuthFailed) {
			return nil
		}
		return err
	})
	if err != nil {
		return false, fmt.Errorf("log in as %s: %w", as.User, err)
	}
	return accepted, nil
}

// ensureRole makes a role with these grants and no others; what a user needs
// is granted before anything is taken away.
func ensureRole(ctx context.Context, c *clientv3.Client, role string, grants []engine.Grant) error {
	if _, err := c.RoleAdd(ctx, role); err != nil && !errors.Is(rpctypes.Error(err), rpctypes.ErrRoleAlreadyExist) {
		return err
	}
	if role == rootRole {
		return nil
	}
	have, err := c.RoleGet(ctx, role)
	if err != nil {
		return err
	}
	same := func(p *authpb.Permission) func(*authpb.Permission) bool {
		return func(q *authpb.Permission) bool {
			return bytes.Equal(p.Key, q.Key) && bytes.Equal(p.RangeEnd, q.RangeEnd)
		}
	}
	var want []*authpb.Permission
	for _, g := range grants {
		p := permission(g)
		want = append(want, p)
		if i := slices.IndexFunc(have.Perm, same(p)); i >= 0 && have.Perm[i].PermType == p.PermType {
			continue
		}
		if _, err := c.RoleGrantPermission(ctx, role, string(p.Key), string(p.RangeEnd),
			clientv3.PermissionType(p.PermType)); err != nil {
			return err
		}
	}
	for _, p := range have.Perm {
		if slices.ContainsFunc(want, same(p)) {
			continue
		}
		_, err := c.RoleRevokePermission(ctx, role, string(p.Key), string(p.RangeEnd))
		if err != nil && !errors.Is(rpctypes.Error(err), rpctypes.ErrPermissionNotGranted) {
			return err
		}
	}
	return nil
}

// ensurePassword makes the user with that password. One that logs in with it
// already is left alone, because setting a password ends every login of the user.
func ensurePassword(ctx context.Context, c *Connection, as engine.Credentials) error {
	_, err := c.Client.UserAdd(ctx, as.User, as.Password)
	if !errors.Is(rpctypes.Error(err), rpctypes.ErrUserAlreadyExist) {
		return err
	}
	if _, err := authenticate(ctx, c.Client.ActiveConnection(), as); err == nil {
		return nil
	}
	_, err = c.Client.UserChangePassword(ctx, as.User, as.Password)
	return err
}

func ensureRoles(ctx context.Context, c *clientv3.Client, user, role string) error {
	got, err := c.UserGet(ctx, user)
	if err != nil {
		return err
	}
	if !slices.Contains(got.Roles, role) {
		if _, err := c.UserGrantRole(ctx, user, role); err != nil {
			return err
		}
	}
	for _, other := range got.Roles {
		if other == role {
			continue
		}
		if _, err := c.UserRevokeRole(ctx, user, other); err != nil &&
			!errors.Is(rpctypes.Error(err), rpctypes.ErrRoleNotGranted) {
			return err
		}
	}
	return nil
}

// DeleteUser implements engine.Authenticator.
func (s *Session) DeleteUser(ctx context.Context, name string) error {
	err := s.atLeader(ctx, func(ctx context.Context, c *Connection) error {
		got, err := c.Client.UserGet(ctx, name)
		if errors.Is(rpctypes.Error(err), rpctypes.ErrUserNotFound) {
			return dropUnused(ctx, c.Client, name)
		}
		if err != nil {
			return err
		}
		if _, err := c.Client.UserDelete(ctx, name); err != nil &&
			!errors.Is(rpctypes.Error(err), rpctypes.ErrUserNotFound) {
			return err
		}
		return dropUnused(ctx, c.Client, got.Roles...)
	})
	if err != nil {
		return fmt.Errorf("delete user %s: %w", name, err)
	}
	return nil
}

// dropUnused deletes those roles that no user has.
func dropUnused(ctx context.Context, c *clientv3.Client, roles ...string) error {
	list, err := c.UserList(ctx)
	if err != nil {
		return err
	}
	used := map[string]bool{rootRole: true}
	for _, name := range list.Users {
		got, err := c.UserGet(ctx, name)
		if err != nil {
			return err
		}
		for _, role := range got.Roles {
			used[role] = true
		}
	}
	for _, role := range roles {
		if used[role] {
			continue
		}
		if _, err := c.RoleDelete(ctx, role); err != nil && !errors.Is(rpctypes.Error(err), rpctypes.ErrRoleNotFound) {
			return err
		}
	}
	return nil
}
