package engines_test

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

func TestCompact(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	for name, c := range map[string]struct {
		args       []string
		code       int
		says, step string
	}{
		"a little stays": {nil, exit.Done, "fakedb/my-db compacted", "before revision 900"},
		"more stays": {[]string{"--keep-revisions", "300"}, exit.Done, "fakedb/my-db compacted",
			"before revision 700"},
		"nothing stays": {[]string{"--keep-revisions", "0"}, exit.Done, "fakedb/my-db compacted",
			"before revision 1000"},
		"up to a revision":     {[]string{"--revision", "930"}, exit.Done, "fakedb/my-db compacted", "before revision 930"},
		"a revision to come":   {[]string{"--revision", "1001"}, exit.Refused, "still to come", ""},
		"both":                 {[]string{"--revision", "5", "--keep-revisions", "5"}, exit.Usage, "give one", ""},
		"a negative revision":  {[]string{"--revision", "-5"}, exit.Usage, "must be 0 or more", ""},
		"fewer than none stay": {[]string{"--keep-revisions", "-1"}, exit.Usage, "must be 0 or more", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b.T = t
			r := b.Run(append([]string{"compact", "my-db", "--progress", "plain"}, c.args...)...)
			if r.Code != c.code || !strings.Contains(r.Out+r.Err, c.says) || !strings.Contains(r.Err, c.step) {
				t.Errorf("exit %d, want %d with %q and %q\n%s%s", r.Code, c.code, c.says, c.step, r.Out, r.Err)
			}
		})
	}
}
