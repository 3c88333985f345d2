//go:build linux

package valkey

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/session"
)

// TestAccounts makes users, which replicas learn of, and which a restart keeps.
func TestAccounts(t *testing.T) {
	t.Parallel()
	s, m1, m2 := pair(t)
	ctx := t.Context()
	logins := func(p *place, name, password string, want bool) {
		t.Helper()
		p.Wait("a login", func(protocol.Server) bool {
			got, err := p.TestLogin(ctx, name, password)
			return err == nil && got == want
		})
	}
	app := api.NewUser{User: api.User{Name: "app", Grants: []api.Grant{{Name: "shop:"}}}, Password: "right"}
	admin := api.NewUser{User: api.User{Name: "root", Admin: true}, Password: "admin"}
	whole := api.NewUser{User: api.User{Name: "whole", Grants: []api.Grant{{}}}, Password: "all"}
	for range 2 {
		for _, u := range []api.NewUser{app, admin, whole} {
			if err := m1.EnsureUser(ctx, u); err != nil {
				t.Fatal(err)
			}
		}
	}
	other := app.User
	other.Grants = []api.Grant{{Name: "shop:", ReadOnly: true}}
	for _, u := range []api.User{app.User, admin.User, other, {Name: "nobody"}} {
		has, err := m1.HasUser(ctx, u)
		if want := u.Name != "nobody" && (len(u.Grants) == 0 || !u.Grants[0].ReadOnly); err != nil || has != want {
			t.Errorf("it has %+v: %t, %v", u, has, err)
		}
	}
	for _, p := range []*place{m1, m2} {
		logins(p, "app", "right", true)
		logins(p, "app", "wrong", false)
		logins(p, "root", "admin", true)
		logins(p, "nobody", "x", false)
	}
	c, err := m1.dialAsClient(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, step := range []struct {
		command string
		allowed bool
	}{
		{"AUTH app right", true},
		{"SET shop:a 1", true},
		{"SET other 1", false},
		{"CONFIG GET dir", false},
		{"FUNCTION LIST", false},
		{"FLUSHALL", false},
		{"SCAN 0", true},
		{"KEYS *", false},
		{"RANDOMKEY", false},
		{"AUTH whole all", true},
		{"KEYS *", true},
		{"RANDOMKEY", true},
		{"AUTH root admin", true},
		{"SET other 1", true},
		{"FLUSHALL", true},
		{"REPLICAOF NO ONE", false},
		{"SHUTDOWN NOSAVE", false},
		{"CONFIG SET appendonly no", false},
		{"ACL SETUSER x on", false},
	} {
		if _, err := c.Do(ctx, strings.Fields(step.command)...); (err == nil) != step.allowed {
			t.Errorf("%s: %v", step.command, err)
		}
	}
	person, err := os.ReadFile(filepath.Join(m1.Sockets(), "password"))
	if err != nil {
		t.Fatal(err)
	}
	entered, err := session.Dial(ctx, m1.socket(), personUser, string(person))
	if err != nil {
		t.Fatal(err)
	}
	defer entered.Close()
	if _, err := entered.Do(ctx, "REPLICAOF", "NO", "ONE"); err == nil {
		t.Error("a person may promote a server")
	}
	users, err := m1.Users(ctx)
	if err != nil || len(users) != 3 || users[0].Name != "app" || !users[1].Admin {
		t.Errorf("the users are %+v: %v", users, err)
	}
	if err := m1.EnsureUser(ctx, api.NewUser{User: api.User{Name: "dbop"}}); !errors.As(err, new(api.Refused)) {
		t.Errorf("to make the agent's user gives %v", err)
	}
	if err := m1.DeleteUser(ctx, "app"); err != nil {
		t.Fatal(err)
	}
	logins(m2, "app", "right", false)
	// A server that starts knows them before it has loaded its data.
	if err := m2.Close(); err != nil {
		t.Fatal(err)
	}
	m2 = s.open("m2")
	m2.Must(protocol.Job{Kind: protocol.Cut, Generation: 2, Settings: protocol.Settings{Durability: protocol.Async}})
	logins(m2, "root", "admin", true)
}
