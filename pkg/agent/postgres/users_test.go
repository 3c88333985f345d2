//go:build linux

package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// alone returns a primary without replicas.
func alone(t *testing.T) *place {
	t.Helper()
	m := newSite(t).open("m1")
	m.Must(protocol.Job{Kind: protocol.Initialise})
	m.Must(protocol.Job{Kind: protocol.Cut, Generation: 1})
	m.Serve(1, 2, protocol.SyncSet{Version: 1})
	return m
}

func TestUsers(t *testing.T) {
	t.Parallel()
	m, ctx := alone(t), t.Context()
	logsIn := func(name, password string, want bool) {
		t.Helper()
		if got, err := m.TestLogin(ctx, name, password); err != nil || got != want {
			t.Errorf("%s logs in: %t (%v), want %t", name, got, err, want)
		}
	}
	odd := `o'dd "name" \`
	for _, u := range []api.NewUser{
		{User: api.User{Name: "root", Admin: true}, Password: "r"},
		{User: api.User{Name: "client", Role: "client", Grants: []api.Grant{{}}}, Password: "first"},
		{User: api.User{Name: "client.2", Role: "client", Grants: []api.Grant{{}}}, Password: "second"},
		{User: api.User{Name: odd, Role: odd, Grants: []api.Grant{{Name: odd, ReadOnly: true}}}, Password: `p'"\ ä`},
	} {
		for range 2 { // a repeat changes nothing
			if err := m.EnsureUser(ctx, u); err != nil {
				t.Fatal(err)
			}
		}
		logsIn(u.Name, u.Password, true)
		logsIn(u.Name, u.Password+"x", false)
	}
	logsIn("nobody", "x", false)
	got, err := m.Users(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want := []api.User{
		{Name: "client", Role: "client", Grants: []api.Grant{{Name: "app"}}},
		{Name: "client.2", Role: "client", Grants: []api.Grant{{Name: "app"}}},
		{Name: odd, Role: odd, Grants: []api.Grant{{Name: odd, ReadOnly: true}}},
		{Name: "root", Admin: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the users: %s", diff)
	}
	kept := m.sql("SELECT rolpassword FROM pg_authid WHERE rolname = 'client'")
	if err := m.EnsureUser(ctx, api.NewUser{User: want[0], Password: "first"}); err != nil {
		t.Fatal(err)
	}
	if again := m.sql("SELECT rolpassword FROM pg_authid WHERE rolname = 'client'"); again != kept {
		t.Error("a password that the user has already was set again")
	}
	open := func(user, password string) *pgconn.PgConn {
		conn, err := local.Dial(ctx, fmt.Sprintf("host=127.0.0.1 port=%d user=%s password=%s dbname=app", m.Port, user,
			password))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(ctx)) })
		return conn
	}
	stays, ended := open("client", "first"), open("client.2", "second")
	for range 2 {
		if err := m.DeleteUser(ctx, "client.2"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := local.Ask(ctx, ended, "SELECT 1"); err == nil {
		t.Error("a user that was deleted goes on in its session")
	}
	if _, err := local.Ask(ctx, stays, "SELECT 1"); err != nil {
		t.Errorf("the session of another user was ended: %v", err)
	}
	logsIn("client.2", "second", false)
	logsIn("client", "first", true)
	for _, name := range []string{local.User, "", "pg_monitor", "dbop_owner_app", strings.Repeat("x", 60), "zero\x00"} {
		err := m.EnsureUser(ctx, api.NewUser{User: api.User{Name: name}, Password: "x"})
		if refused := (api.Refused{}); !errors.As(err, &refused) {
			t.Errorf("%q becomes a user: %v", name, err)
		}
	}
	if err := m.DeleteUser(ctx, local.User); err == nil {
		t.Error("the agent's own role was deleted")
	}
}
