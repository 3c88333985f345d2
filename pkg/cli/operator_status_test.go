package cli

import (
	"strings"
	"testing"
)

func TestOperatorStatusForMachines(t *testing.T) {
	b := newBench(t)
	if r := b.run("operator", "status", "-o", "json"); r.code != ExitNotFound || !strings.Contains(r.out, `"installed": false`) {
		t.Errorf("none: exit %d\n%s%s", r.code, r.out, r.err)
	}
	b.image = "tool:v1"
	r := b.run("operator", "status", "-o", "yaml")
	if r.code != ExitDone || !strings.Contains(r.out, "image: tool:v1\n") || !strings.Contains(r.out, "kind: OperatorStatus\n") {
		t.Errorf("one: exit %d\n%s%s", r.code, r.out, r.err)
	}
}
