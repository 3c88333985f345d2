package diagnostics_test

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

// TestManyClusters: how each is, its members say and not its record; the exit
// code of status is that of the worst.
func TestManyClusters(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	b.Must("create", "other", "--engine", "fakedb", "--progress", "none")
	b.AddPods("my-db", "my-db-1", "my-db-2", "my-db-3")
	states := func(args ...string) (string, clitest.Result) {
		r := b.Run(args...)
		var out []string
		for line := range strings.Lines(r.Out) {
			if f := strings.Fields(line); len(f) > 4 &&
				(strings.HasPrefix(f[0], "my-db") || strings.HasPrefix(f[0], "other")) {
				out = append(out, f[0]+" "+f[3]+" "+f[4])
			}
		}
		return strings.Join(out, ", "), r
	}
	if got, r := states("list"); got != "my-db 3/3 Healthy, other 0/3 Down" || r.Code != exit.Done {
		t.Errorf("nobody runs of other: %q\n%s%s", got, r.Out, r.Err)
	}
	b.AddPods("other", "other-1")
	if got, r := states("status"); got != "my-db 3/3 Healthy, other 1/3 Healthy" || r.Code != exit.Done {
		t.Errorf("%q, exit %d\n%s%s", got, r.Code, r.Out, r.Err)
	}
	b.At("other").Facts.Foreign = []string{"service/other"}
	for _, args := range [][]string{{"status"}, {"status", "-A", "-o", "json"}} {
		if _, r := states(args...); r.Code != exit.Degraded || !strings.Contains(r.Out, "service/other") {
			t.Errorf("%v: exit %d\n%s%s", args, r.Code, r.Out, r.Err)
		}
	}
	b.At("other").View.Quorum = false
	if got, r := states("list"); !strings.Contains(got, "other 1/3 De") && !strings.Contains(got, "other 1/3 Down") {
		t.Errorf("%q\n%s", got, r.Out)
	}
	if r := b.Run("list", "--no-health", "--no-headers"); strings.Contains(r.Out, "NAME") ||
		strings.Contains(r.Out, "Healthy") || !strings.Contains(r.Out, "3/3") {
		t.Errorf("%s%s", r.Out, r.Err)
	}
	if r := b.Run("list", "-o", "json"); !strings.Contains(r.Out, `"ready": 3`) ||
		!strings.Contains(r.Out, `"state": "Healthy"`) {
		t.Errorf("%s%s", r.Out, r.Err)
	}
	if r := b.Run("status", "my-db", "-A"); r.Code != exit.Usage {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
}
