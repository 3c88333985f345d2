package operatorcmd_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

func TestOperatorUpgrade(t *testing.T) {
	b := clitest.New(t)
	is := func(code int, out, errs string, args ...string) {
		t.Helper()
		b.Applied = nil
		if r := b.Run(append([]string{"operator"}, args...)...); r.Code != code || !strings.Contains(r.Out, out) ||
			!strings.Contains(r.Err, errs) {
			t.Errorf("%v: exit %d\n%s%s", args, r.Code, r.Out, r.Err)
		}
	}
	is(exit.NotFound, "", "hint: install one", "upgrade", "--image", "tool:v0.2.0")
	is(exit.Done, "operator installed", "", "install", "--image", "tool:v0.2.0", "--watch", "shop", "--replicas", "3")
	is(exit.Done, "operator unchanged", "", "upgrade", "--image", "tool:v0.2.0")
	if len(b.Applied) > 0 {
		t.Errorf("unchanged, and applied %v", b.Applied)
	}
	is(exit.Refused, "", "newer than tool:v0.1.0", "upgrade", "--image", "tool:v0.1.0")
	is(exit.Done, "(dry run)", "deployment/dbop-operator changes in spec.template", "upgrade", "--image", "tool:v0.3.0",
		"--dry-run=client")
	if len(b.Applied) > 0 {
		t.Errorf("a rehearsal applied %v", b.Applied)
	}
	is(exit.Done, "(server dry run)", "", "upgrade", "--image", "tool:v0.3.0", "--dry-run=server")
	is(exit.Done, "operator upgraded", "No pod of a database restarts.", "upgrade", "--image", "tool:v0.3.0")
	if !slices.Equal(b.Applied, []string{"Deployment"}) {
		t.Errorf("applied %v", b.Applied)
	}
	is(exit.Done, "operator unchanged", "", "upgrade", "--image", "tool:v0.3.0")
	is(exit.Done, "operator upgraded", "does not tell its version", "upgrade", "--image", "tool:dev")
	delete(b.Objects, "Role shop/dbop-operator")
	is(exit.Done, "operator upgraded", "role/dbop-operator is made", "upgrade", "--image", "tool:dev")
}
