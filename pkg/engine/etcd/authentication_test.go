package etcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/client"
)

var (
	administrator = engine.Credentials{User: "root", Password: "root password"}
	application   = engine.User{Name: "client", Role: "client", Grants: []engine.Grant{{}}}
)

// plainText makes a fleet without certificates, whose session knows a wrong password
// and the right one.
func plainText(f *fleet) {
	f.cluster.Spec.TLS.Disabled, f.tls = true, nil
	f.passwords = func(context.Context) ([]engine.Credentials, error) {
		return []engine.Credentials{{User: "root", Password: "outdated"}, administrator}, nil
	}
}

// TestAuthentication enables and disables authentication on every series, with
// certificates that name users and with passwords, with every request made
// twice, and lets the session do all that operations ask of it meanwhile.
func TestAuthentication(t *testing.T) {
	t.Parallel()
	for _, series := range allSeries {
		for kind, changes := range map[string][]func(*fleet){"certificates": nil, "passwords": {plainText}} {
			t.Run(series+" by "+kind, func(t *testing.T) {
				t.Parallel()
				f := newFleet(t, "auth", 3, changes...)
				f.form(series, f.name(1), f.name(2))
				f.enableAuth(f.name(1), f.name(2))
				f.serveAuthenticated(series)
				f.disableAuth()
			})
		}
	}
}

// client is how an application reaches the fleet.
func (f *fleet) clientAccess(password string) engine.Access {
	a := f.access()
	a.Credentials = func(context.Context) ([]engine.Credentials, error) {
		return []engine.Credentials{{User: "client", Password: password}}, nil
	}
	if f.tls != nil {
		a.TLS, a.Credentials = f.issuer.client("client"), nil
	}
	return a
}

func (f *fleet) enableAuth(up ...string) {
	t, ctx := f.t, f.t.Context()
	if auth := f.healthy(up...).Auth(); auth != engine.AuthOff {
		t.Fatalf("authentication is %q before it was turned on", auth)
	}
	for range 2 {
		for _, err := range []error{
			f.session.EnsureUser(ctx, engine.User{Name: "root", Admin: true}, administrator.Password),
			f.session.EnsureUser(ctx, application, "client password"),
			f.session.EnableAuth(ctx),
			f.session.ProveAuth(ctx, f.clientAccess("client password")),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if auth := f.healthy(up...).Auth(); auth != engine.AuthOn {
		t.Fatalf("authentication is %q after it was turned on", auth)
	}
	want := []engine.User{application, {Name: "root", Admin: true}}
	if got, err := f.session.Users(ctx); err != nil || !cmp.Equal(got, want) {
		t.Errorf("users %+v (%v), want %+v", got, err, want)
	}
}

// serveAuthenticated does what operations do: join, hand over, back up,
// defragment, compare, remove.
func (f *fleet) serveAuthenticated(series string) {
	t, ctx, joining := f.t, f.t.Context(), f.name(3)
	f.whenReady("register", func() error { return f.session.Register(ctx, joining) })
	f.start(series, joining, false, f.names()...)
	f.eventually("the learner tells its state", func() error {
		if m := f.session.Observe(ctx, f.names()).Member(joining); m.Role != engine.RoleLearner || m.Auth != engine.AuthOn {
			return fmt.Errorf("%+v", m)
		}
		return nil
	})
	f.whenReady("promote", func() error { return f.session.Promote(ctx, joining) })
	f.healthy(f.names()...)
	f.whenReady("hand over", func() error { return f.session.HandOver(ctx, joining) })
	f.restart(series, f.name(1))
	f.healthy(f.names()...)
	var copied bytes.Buffer
	if err := f.session.Snapshot(ctx, f.name(1), &copied, nil); err != nil || copied.Len() == 0 {
		t.Errorf("snapshot of %d bytes: %v", copied.Len(), err)
	}
	for _, m := range f.names() {
		if _, err := f.session.Fingerprint(ctx, m); err != nil {
			t.Error(err)
		}
		if err := f.session.Defragment(ctx, m); err != nil {
			t.Error(err)
		}
	}
	if err := f.client(f.name(1), func(ctx context.Context, c *clientv3.Client) error {
		_,
			err := c.AlarmList(ctx)
		return err
	}); err != nil {
		t.Errorf("list alarms: %v", err)
	}
	id := f.registered(joining)
	f.whenReady("remove", func() error { return f.session.Deregister(ctx, joining, id) })
	f.kill(joining)
}

func (f *fleet) disableAuth() {
	t, ctx, up := f.t, f.t.Context(), []string{f.name(1), f.name(2)}
	for range 2 {
		f.whenReady("disable", func() error { return f.session.DisableAuth(ctx) })
	}
	if auth := f.healthy(up...).Auth(); auth != engine.AuthOff {
		t.Errorf("authentication is %q after it was turned off", auth)
	}
}

// TestUsers makes, changes and deletes users and their grants.
func TestUsers(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "users", 1, plainText)
	f.form(series36, f.name(1))
	f.enableAuth(f.name(1))
	ctx := t.Context()
	app := engine.User{Name: "app", Role: "app", Grants: []engine.Grant{{Prefix: "/app/"},
		{Prefix: "/shared/", ReadOnly: true}}}
	turn := engine.User{Name: "app.2", Role: "app", Grants: app.Grants}
	check := func(want ...string) {
		t.Helper()
		users, err := f.session.Users(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, u := range users {
			got = append(got, fmt.Sprintf("%s %s %v", u.Name, u.Role, u.Grants))
		}
		if diff := cmp.Diff(append(want, "client client [{ false}]", "root  []"), got); diff != "" {
			t.Errorf("users (-want +got):\n%s", diff)
		}
	}
	for range 2 {
		for _, u := range []engine.User{app, turn} {
			if err := f.session.EnsureUser(ctx, u, "p"); err != nil {
				t.Fatal(err)
			}
		}
	}
	check("app app [{/app/ false} {/shared/ true}]", "app.2 app [{/app/ false} {/shared/ true}]")
	if err := f.put(f.name(1), "/app/x", "y", ""); err != nil {
		t.Error("root may write anywhere:", err)
	}
	has := func(want bool) {
		t.Helper()
		if got, err := f.session.HasUser(ctx, app); err != nil || got != want {
			t.Errorf("it has %+v: %t, %v", app, got, err)
		}
	}
	has(true)
	app.Grants = []engine.Grant{{Prefix: "/app/", ReadOnly: true}}
	has(false)
	if err := f.session.EnsureUser(ctx, app, "p"); err != nil {
		t.Fatal(err)
	}
	has(true)
	check("app app [{/app/ true}]", "app.2 app [{/app/ true}]")
	for range 2 {
		if err := f.session.DeleteUser(ctx, "app"); err != nil {
			t.Fatal(err)
		}
	}
	check("app.2 app [{/app/ true}]")
	if err := f.session.DeleteUser(ctx, "app.2"); err != nil {
		t.Fatal(err)
	}
	check()
	// The role went with its last user.
	err := f.client(f.name(1), func(ctx context.Context, c *clientv3.Client) error {
		_,
			err := c.RoleGet(ctx, "app")
		return err
	})
	if !errors.Is(rpctypes.Error(err), rpctypes.ErrRoleNotFound) {
		t.Errorf("role of nobody: %v", err)
	}
}

// TestPasswordChange shows what rotation has to reckon with: a new password
// ends the logins made with the old one at once, and a session that reads its
// password again goes on.
func TestPasswordChange(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "change", 1, plainText)
	f.form(series37, f.name(1))
	f.enableAuth(f.name(1))
	now := "client password"
	access := f.clientAccess("")
	access.Credentials = func(context.Context) ([]engine.Credentials, error) {
		return []engine.Credentials{{User: "client", Password: now}}, nil
	}
	as := client.New(access, f.session.At)
	defer func() { _ = as.Close() }()
	read := func() error {
		var failed error
		err := as.With(f.name(1), func(c *client.Connection) bool {
			_,
				failed = c.Client.Get(t.Context(), "k")
			return true
		})
		return errors.Join(err, failed)
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	if err := f.session.EnsureUser(t.Context(), application, "another"); err != nil {
		t.Fatal(err)
	}
	if err := read(); err == nil || !strings.Contains(err.Error(), client.LoginDemanded) ||
		strings.Contains(err.Error(), "client password") {
		t.Errorf("with the old password, logged in before: %v", err)
	}
	now = "another"
	if err := read(); err != nil {
		t.Errorf("with the new password: %v", err)
	}
}

// TestLockedOut reads members that let nobody in: without a password, and
// without the quorum that a login needs.
func TestLockedOut(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "barred", 2, plainText)
	f.form(series36, f.names()...)
	f.enableAuth(f.names()...)
	access := f.access()
	access.Credentials = nil
	other := client.New(access, f.session.At)
	defer func() { _ = other.Close() }()
	for _, m := range other.Observe(t.Context(), f.names()).Members {
		if !m.Reachable || m.Auth != engine.AuthOn || m.Version == "" ||
			!strings.Contains(m.Problem, "user name is empty") {
			t.Errorf("without a password: %+v", m)
		}
	}
	f.kill(f.name(2))
	late := client.New(f.access(), f.session.At)
	defer func() { _ = late.Close() }()
	f.eventually("seen without quorum", func() error {
		m := late.Observe(t.Context(), f.names()).Member(f.name(1))
		if !m.Reachable || m.Auth != engine.AuthOn || !strings.Contains(m.Problem, client.LoginDemanded) {
			return fmt.Errorf("%+v", m)
		}
		return nil
	})
}
