package cli

import (
	"strings"
	"testing"
)

func TestCompact(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	for name, c := range map[string]struct {
		args       []string
		code       int
		says, step string
	}{
		"a little stays":       {nil, ExitDone, "fakedb/my-db compacted", "before revision 900"},
		"more stays":           {[]string{"--keep-revisions", "300"}, ExitDone, "fakedb/my-db compacted", "before revision 700"},
		"nothing stays":        {[]string{"--keep-revisions", "0"}, ExitDone, "fakedb/my-db compacted", "before revision 1000"},
		"up to a revision":     {[]string{"--revision", "930"}, ExitDone, "fakedb/my-db compacted", "before revision 930"},
		"a revision to come":   {[]string{"--revision", "1001"}, ExitRefused, "still to come", ""},
		"both":                 {[]string{"--revision", "5", "--keep-revisions", "5"}, ExitUsage, "give one", ""},
		"a negative revision":  {[]string{"--revision", "-5"}, ExitUsage, "not below 0", ""},
		"fewer than none stay": {[]string{"--keep-revisions", "-1"}, ExitUsage, "not below 0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			r := b.run(append([]string{"compact", "my-db", "--progress", "plain"}, c.args...)...)
			if r.code != c.code || !strings.Contains(r.out+r.err, c.says) || !strings.Contains(r.err, c.step) {
				t.Errorf("exit %d, want %d with %q and %q\n%s%s", r.code, c.code, c.says, c.step, r.out, r.err)
			}
		})
	}
}
