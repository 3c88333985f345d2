package cli

import (
	"slices"
	"strings"
	"testing"
)

func TestOperatorUpgrade(t *testing.T) {
	b := newBench(t)
	is := func(code int, out, errs string, args ...string) {
		t.Helper()
		b.applied = nil
		if r := b.run(append([]string{"operator"}, args...)...); r.code != code || !strings.Contains(r.out, out) || !strings.Contains(r.err, errs) {
			t.Errorf("%v: exit %d\n%s%s", args, r.code, r.out, r.err)
		}
	}
	is(ExitNotFound, "", "hint: install one", "upgrade", "--image", "tool:v0.2.0")
	is(ExitDone, "operator installed", "", "install", "--image", "tool:v0.2.0", "--watch", "shop", "--replicas", "3")
	is(ExitDone, "operator unchanged", "", "upgrade", "--image", "tool:v0.2.0")
	if len(b.applied) > 0 {
		t.Errorf("unchanged, and applied %v", b.applied)
	}
	is(ExitRefused, "", "newer than tool:v0.1.0", "upgrade", "--image", "tool:v0.1.0")
	is(ExitDone, "(dry run)", "deployment/dbop-operator changes in spec.template", "upgrade", "--image", "tool:v0.3.0", "--dry-run=client")
	if len(b.applied) > 0 {
		t.Errorf("a rehearsal applied %v", b.applied)
	}
	is(ExitDone, "(server dry run)", "", "upgrade", "--image", "tool:v0.3.0", "--dry-run=server")
	is(ExitDone, "operator upgraded", "No pod of a database restarts.", "upgrade", "--image", "tool:v0.3.0")
	if !slices.Equal(b.applied, []string{"Deployment"}) {
		t.Errorf("applied %v", b.applied)
	}
	is(ExitDone, "operator unchanged", "", "upgrade", "--image", "tool:v0.3.0")
	is(ExitDone, "operator upgraded", "does not tell its version", "upgrade", "--image", "tool:dev")
	delete(b.objects, "Role shop/dbop-operator")
	is(ExitDone, "operator upgraded", "role/dbop-operator is made", "upgrade", "--image", "tool:dev")
}
