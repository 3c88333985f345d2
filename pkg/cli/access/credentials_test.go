package access_test

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

func TestCredentialsShow(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	b.Must("user", "create", "my-db", "billing", "--prefix", "/billing/", "--progress", "none")
	shown := "USER      SECRET               LOGS-IN-AS   STILL-VALID   CERTIFICATE\n" +
		"root      my-db-root           root         <none>        my-db-admin-tls\n" +
		"client    <none>               <none>       <none>        my-db-client-tls\n" +
		"billing   my-db-user-billing   billing.2    billing       <none>\n"
	r := b.Run("user", "show", "my-db")
	if r.Out != shown || !strings.Contains(r.Err, "kubectl dbop -n shop user auth enable my-db") {
		t.Errorf("%s%s", r.Out, r.Err)
	}
	for _, args := range [][]string{{"user", "show", "my-db"}, {"user", "show", "my-db", "-o", "json"}} {
		if r := b.Run(args...); strings.Contains(r.Out+r.Err, "s3cret") {
			t.Errorf("%v prints passwords:\n%s", args, r.Out)
		}
	}
	r = b.Run("user", "show", "my-db", "billing", "--reveal")
	if !strings.Contains(r.Out, "s3cret-billing") || strings.Contains(r.Out, "s3cret-root") ||
		strings.Contains(r.Err, "s3cret") {
		t.Errorf("revealed:\n%s%s", r.Out, r.Err)
	}
	if r := b.Run("user", "show", "my-db", "nobody"); r.Code != exit.Usage ||
		!strings.Contains(r.Err, "kubectl dbop -n shop user list my-db") {
		t.Errorf("nobody: exit %d\n%s", r.Code, r.Err)
	}
}

func TestUserList(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	b.Must("user", "create", "my-db", "billing", "--progress", "none")
	want := "USER        ROLE      MAY                                          SECRET\n" +
		"billing.2   billing   read and write /billing/*, read all data   my-db-user-billing\n" +
		"root        <none>    everything                                   my-db-root\n" +
		"theirs      own       <none>                                       <none>\n"
	if r := b.Run("user", "list", "my-db"); strings.Join(strings.Fields(r.Out), " ") != strings.Join(strings.Fields(want),
		" ") {
		t.Errorf("%s%s", r.Out, r.Err)
	}
}

// TestAuthAsks: nobody's clients are refused without a yes, and a rotation refuses nobody.
func TestAuthAsks(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"user", "auth", "enable", "my-db"}, exit.Usage, "repeat with --yes"},
		{[]string{"user", "auth", "enable", "my-db", "--yes"}, exit.Done, ""},
		{[]string{"user", "create", "my-db", "seller", "--database", "shop"}, exit.Usage, "has no databases"},
		{[]string{"user", "rotate", "my-db"}, exit.Done, "--drop-old"},
		{[]string{"user", "rotate", "my-db", "--drop-old"}, exit.Usage, "repeat with --yes"},
		{[]string{"user", "rotate", "my-db", "--drop-old", "--yes"}, exit.Done, ""},
		{[]string{"user", "auth", "disable", "my-db"}, exit.Usage, "repeat with --yes"},
		{[]string{"user", "auth", "disable", "my-db", "--yes"}, exit.Done, ""},
		{[]string{"user", "delete", "my-db", "nobody", "--yes"}, exit.Usage, "not made by this tool"},
	} {
		if r := b.Run(c.args...); r.Code != c.code || !strings.Contains(r.Err, c.says) {
			t.Errorf("%v: exit %d, want %d\n%s%s", c.args, r.Code, c.code, r.Out, r.Err)
		}
	}
}
