//go:build linux

package postgres

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
)

// TestHasUser: whatever is missing of a user is noticed, and is there after the user was made again.
func TestHasUser(t *testing.T) {
	t.Parallel()
	m := clients{alone(t), t}
	bob := api.User{Name: "bob", Role: "bob", Grants: []api.Grant{{}}}
	reader := api.User{Name: "ro", Role: "ro", Grants: []api.Grant{{ReadOnly: true}}}
	m.has(false, bob)
	m.user(bob.Name, bob.Grants...)
	m.user(reader.Name, reader.Grants...)
	m.has(false, api.User{Name: "bob", Role: "bob", Grants: reader.Grants})
	m.has(false, api.User{Name: "bob", Role: "bob", Grants: []api.Grant{{}, {Name: "two"}}})
	m.has(false, api.User{Name: "bob", Admin: true})
	for _, c := range []struct {
		database, change string
		of               api.User
	}{
		{"app", "CREATE TABLE public.theirs (n int)", reader}, // of a superuser
		{"app", "ALTER DEFAULT PRIVILEGES FOR ROLE dbop_owner_app REVOKE SELECT ON TABLES FROM dbop_reader_app", reader},
		{"app", "REVOKE CONNECT ON DATABASE app FROM dbop_reader_app", reader},
		{"app", "GRANT CONNECT ON DATABASE app TO PUBLIC", bob},
		{"app", "REVOKE dbop_owner_app FROM bob", bob},
		{"app", "GRANT dbop_reader_app TO bob", bob},
		{"app", "ALTER ROLE bob RESET role", bob},
		{"app", "ALTER ROLE bob IN DATABASE app SET role = 'dbop_owner_app'", bob},
		{"app", "ALTER ROLE bob NOLOGIN", bob},
		{"app", "ALTER ROLE bob CREATEDB", bob},
		{"app", "ALTER ROLE bob PASSWORD NULL", bob},
	} {
		m.in(c.database, c.change)
		if has, err := m.HasUser(t.Context(), c.of); err != nil || has {
			t.Errorf("after %s: %t, %v", c.change, has, err)
		}
		m.user(c.of.Name, c.of.Grants...)
	}
}
