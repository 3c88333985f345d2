package cli

import (
	"strings"
	"testing"
)

func TestPauseAndResume(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"pause", "my-db"}, ExitDone, "fakedb/my-db paused"},
		{[]string{"pause", "my-db"}, ExitDone, "fakedb/my-db unchanged"},
		{[]string{"status", "my-db"}, ExitDone, "; nobody acts on it until kubectl dbop -n shop resume my-db"},
		{[]string{"scale", "my-db", "--members", "5"}, ExitRefused, "hint: kubectl dbop -n shop resume my-db lifts that"},
		{[]string{"resume", "my-db", "--dry-run"}, ExitDone, "resumed (dry run)"},
		{[]string{"resume", "my-db"}, ExitDone, "fakedb/my-db resumed"},
		{[]string{"resume", "my-db"}, ExitDone, "No operation of my-db is in flight"},
		{[]string{"scale", "my-db", "--members", "5"}, ExitDone, "scaled"},
	} {
		r := b.run(c.args...)
		if r.code != c.code || !strings.Contains(r.out+r.err, c.says) {
			t.Errorf("%v: exit %d, want %d and %q\n%s%s", c.args, r.code, c.code, c.says, r.out, r.err)
		}
	}
}
