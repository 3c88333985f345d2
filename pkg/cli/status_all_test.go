package cli

import (
	"strings"
	"testing"
)

// TestManyClusters: how each is, its members say and not its record; the exit
// code of status is that of the worst.
func TestManyClusters(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	b.must("create", "other", "--engine", "fakedb", "--progress", "none")
	b.addPods("my-db", "my-db-1", "my-db-2", "my-db-3")
	states := func(args ...string) (string, result) {
		r := b.run(args...)
		var out []string
		for line := range strings.Lines(r.out) {
			if f := strings.Fields(line); len(f) > 4 && (strings.HasPrefix(f[0], "my-db") || strings.HasPrefix(f[0], "other")) {
				out = append(out, f[0]+" "+f[3]+" "+f[4])
			}
		}
		return strings.Join(out, ", "), r
	}
	if got, r := states("list"); got != "my-db 3/3 Healthy, other 0/3 Down" || r.code != ExitDone {
		t.Errorf("nobody runs of other: %q\n%s%s", got, r.out, r.err)
	}
	b.addPods("other", "other-1")
	if got, r := states("status"); got != "my-db 3/3 Healthy, other 1/3 Healthy" || r.code != ExitDone {
		t.Errorf("%q, exit %d\n%s%s", got, r.code, r.out, r.err)
	}
	b.at("other").facts.Foreign = []string{"service/other"}
	for _, args := range [][]string{{"status"}, {"status", "-A", "-o", "json"}} {
		if _, r := states(args...); r.code != ExitDegraded || !strings.Contains(r.out, "service/other") {
			t.Errorf("%v: exit %d\n%s%s", args, r.code, r.out, r.err)
		}
	}
	b.at("other").view.Quorum = false
	if got, r := states("list"); !strings.Contains(got, "other 1/3 De") && !strings.Contains(got, "other 1/3 Down") {
		t.Errorf("%q\n%s", got, r.out)
	}
	if r := b.run("list", "--no-health", "--no-headers"); strings.Contains(r.out, "NAME") || strings.Contains(r.out, "Healthy") || !strings.Contains(r.out, "3/3") {
		t.Errorf("%s%s", r.out, r.err)
	}
	if r := b.run("list", "-o", "json"); !strings.Contains(r.out, `"ready": 3`) || !strings.Contains(r.out, `"state": "Healthy"`) {
		t.Errorf("%s%s", r.out, r.err)
	}
	if r := b.run("status", "my-db", "-A"); r.code != ExitUsage {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
}
