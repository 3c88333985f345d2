package operation_test

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

func TestPauseAndResume(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"pause", "my-db", "--dry-run"}, exit.Done, "fakedb/my-db paused (dry run)"},
		{[]string{"pause", "my-db", "--dry-run", "-o", "json"}, exit.Done, `"paused": true`},
		{[]string{"pause", "my-db"}, exit.Done, "fakedb/my-db paused"},
		{[]string{"pause", "my-db"}, exit.Done, "fakedb/my-db unchanged"},
		{[]string{"status", "my-db"}, exit.Done, "; nobody acts on it until kubectl dbop -n shop resume my-db"},
		{[]string{"scale", "my-db", "--members", "5"}, exit.Refused, "hint: kubectl dbop -n shop resume my-db lifts that"},
		{[]string{"resume", "my-db", "--dry-run"}, exit.Done, "resumed (dry run)"},
		{[]string{"plan", "undo", "my-db"}, exit.Done, "Lift the pause"},
		{[]string{"plan", "undo", "my-db", "-o", "json"}, exit.Done, `"title": "Lift the pause"`},
		{[]string{"undo", "my-db", "--dry-run", "-o", "json"}, exit.Done, `"kind": "DatabaseCluster"`},
		{[]string{"pause", "my-db"}, exit.Done, "fakedb/my-db unchanged"},
		{[]string{"resume", "my-db"}, exit.Done, "fakedb/my-db resumed"},
		{[]string{"resume", "my-db"}, exit.Done, "No operation of my-db is in flight"},
		{[]string{"scale", "my-db", "--members", "5"}, exit.Done, "scaled"},
	} {
		r := b.Run(c.args...)
		if r.Code != c.code || !strings.Contains(r.Out+r.Err, c.says) {
			t.Errorf("%v: exit %d, want %d and %q\n%s%s", c.args, r.Code, c.code, c.says, r.Out, r.Err)
		}
	}
}
