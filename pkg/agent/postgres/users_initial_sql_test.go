//go:build linux

package postgres

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/users"
)

// TestRunOnce: SQL that the server does not accept leaves nothing, also where it tries to commit a part. What it
// accepts belongs to the role of the user, and is carried out once.
func TestRunOnce(t *testing.T) {
	t.Parallel()
	m, ctx := alone(t), t.Context()
	odd := `o'dd "name" \`
	for _, u := range []api.User{
		{Name: "client", Role: "client", Grants: []api.Grant{{}}}, {Name: odd, Role: odd, Grants: []api.Grant{{Name: odd}}},
	} {
		if err := m.EnsureUser(ctx, api.NewUser{User: u, Password: "p"}); err != nil {
			t.Fatal(err)
		}
	}
	tables := func(database string) string {
		got, err := m.OnceIn(ctx, database, `SELECT tablename || ' of ' || tableowner FROM pg_tables
 WHERE schemaname = 'public' ORDER BY 1`)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, row := range got[0] {
			out = append(out, row[0])
		}
		return strings.Join(out, ", ")
	}
	for _, test := range []struct{ name, statements, want string }{
		{"a syntax error", "CREATE TABLE a (n int);\nCREATE TABEL b (n int);", `line 2: syntax error at or near "TABEL"`},
		{"what is not there", "CREATE TABLE a (n int);\n-- größer\n\nINSERT INTO c VALUES (1);",
			`line 4: relation "c" does not exist`},
		{"a commit", "CREATE TABLE a (n int); COMMIT; SELECT 1/0;", "EXECUTE of transaction commands is not implemented"},
		{"another transaction", "CREATE TABLE a (n int); ROLLBACK; BEGIN; CREATE TABLE b (n int)",
			"EXECUTE of transaction commands is not implemented"},
		{"what is checked at the end", `CREATE TABLE a (n int PRIMARY KEY);
CREATE TABLE b (n int REFERENCES a DEFERRABLE INITIALLY DEFERRED); INSERT INTO b VALUES (1)`,
			`insert or update on table "b" violates foreign key constraint "b_n_fkey"`},
		{"no right", "CREATE TABLE a (n int); SELECT pg_read_file('x')", "permission denied for function pg_read_file"},
		{"another user", "CREATE TABLE a (n int); SET SESSION AUTHORIZATION client; SELECT 1/0", "division by zero"},
		{"a zero byte", "CREATE TABLE a (n int)\x00", "a zero byte is no text"},
	} {
		for database, role := range map[string]string{"": "client", odd: odd} {
			err := m.RunOnce(ctx, api.InitialSQL{Role: role, Database: database, Statements: test.statements})
			refused, ok := errors.AsType[api.NotAccepted](err)
			if !ok || refused.Why != test.want {
				t.Errorf("%s: %v, want %s", test.name, err, test.want)
			}
		}
		if got := tables(users.Database) + tables(odd); got != "" {
			t.Fatalf("%s leaves %s", test.name, got)
		}
	}
	good := "CREATE TABLE a (\"it's\" text); INSERT INTO a VALUES (E'\\\\ $$ ä');\n" +
		"CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$;\n" +
		"RESET ROLE; CREATE TABLE of_another (n int); SET ROLE dbop_owner_app; CREATE TABLE z (n int) -- the end"
	var wg sync.WaitGroup
	for range 3 { // a repeat waits for the one before it, and changes nothing
		wg.Go(func() {
			if err := m.RunOnce(ctx, api.InitialSQL{Role: "client", Statements: good}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got, want := tables(users.Database), "a of dbop_owner_app, of_another of dbop, z of dbop_owner_app"; got != want {
		t.Errorf("there are %s, want %s", got, want)
	}
	if err := m.RunOnce(ctx, api.InitialSQL{Role: odd, Database: odd, Statements: "CREATE TABLE o (n int)"}); err != nil {
		t.Error(err)
	}
	if got, want := tables(odd), "o of dbop_owner_"+odd; got != want {
		t.Errorf("there are %s, want %s", got, want)
	}
	if err := m.RunOnce(ctx, api.InitialSQL{Role: odd, Database: odd, Statements: "DROP TABLE o"}); err != nil ||
		tables(odd) == "" {
		t.Errorf("it is carried out again (%v)", err)
	}
}
