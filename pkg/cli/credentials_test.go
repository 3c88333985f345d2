package cli

import (
	"strings"
	"testing"
)

func TestCredentialsShow(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	b.must("user", "create", "my-db", "billing", "--prefix", "/billing/", "--progress", "none")
	shown := "USER      SECRET               LOGS-IN-AS   STILL-VALID   CERTIFICATE\n" +
		"root      my-db-root           root         <none>        my-db-admin-tls\n" +
		"client    <none>               <none>       <none>        my-db-client-tls\n" +
		"billing   my-db-user-billing   billing.2    billing       <none>\n"
	r := b.run("credentials", "show", "my-db")
	if r.out != shown || !strings.Contains(r.err, "kubectl dbop -n shop auth enable my-db") {
		t.Errorf("%s%s", r.out, r.err)
	}
	for _, args := range [][]string{{"credentials", "show", "my-db"}, {"credentials", "show", "my-db", "-o", "json"}} {
		if r := b.run(args...); strings.Contains(r.out+r.err, "s3cret") {
			t.Errorf("%v prints passwords:\n%s", args, r.out)
		}
	}
	r = b.run("credentials", "show", "my-db", "billing", "--reveal")
	if !strings.Contains(r.out, "s3cret-billing") || strings.Contains(r.out, "s3cret-root") || strings.Contains(r.err, "s3cret") {
		t.Errorf("revealed:\n%s%s", r.out, r.err)
	}
	if r := b.run("credentials", "show", "my-db", "nobody"); r.code != ExitUsage || !strings.Contains(r.err, "kubectl dbop -n shop user list my-db") {
		t.Errorf("nobody: exit %d\n%s", r.code, r.err)
	}
}

func TestUserList(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	b.must("user", "create", "my-db", "billing", "--progress", "none")
	want := "USER        ROLE      MAY                                          SECRET\n" +
		"billing.2   billing   read and write /billing/*, read every key   my-db-user-billing\n" +
		"root        <none>    everything                                   my-db-root\n" +
		"theirs      own       <none>                                       <none>\n"
	if r := b.run("user", "list", "my-db"); strings.Join(strings.Fields(r.out), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("%s%s", r.out, r.err)
	}
}

// TestAuthAsks: nobody's clients are turned away without a yes, and a rotation turns nobody away.
func TestAuthAsks(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"auth", "enable", "my-db"}, ExitUsage, "repeat with --yes"},
		{[]string{"auth", "enable", "my-db", "--yes"}, ExitDone, ""},
		{[]string{"credentials", "rotate", "my-db"}, ExitDone, "--drop-old"},
		{[]string{"credentials", "rotate", "my-db", "--drop-old"}, ExitUsage, "repeat with --yes"},
		{[]string{"credentials", "rotate", "my-db", "--drop-old", "--yes"}, ExitDone, ""},
		{[]string{"auth", "disable", "my-db"}, ExitUsage, "repeat with --yes"},
		{[]string{"auth", "disable", "my-db", "--yes"}, ExitDone, ""},
		{[]string{"user", "delete", "my-db", "nobody", "--yes"}, ExitUsage, "not made by this tool"},
	} {
		if r := b.run(c.args...); r.code != c.code || !strings.Contains(r.err, c.says) {
			t.Errorf("%v: exit %d, want %d\n%s%s", c.args, r.code, c.code, r.out, r.err)
		}
	}
}
