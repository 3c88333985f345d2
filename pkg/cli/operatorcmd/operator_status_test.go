package operatorcmd_test

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

func TestOperatorStatusForMachines(t *testing.T) {
	b := clitest.New(t)
	if r := b.Run("operator", "status", "-o", "json"); r.Code != exit.NotFound ||
		!strings.Contains(r.Out, `"installed": false`) {
		t.Errorf("none: exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	b.Image = "tool:v1"
	r := b.Run("operator", "status", "-o", "yaml")
	if r.Code != exit.Done || !strings.Contains(r.Out, "image: tool:v1\n") ||
		!strings.Contains(r.Out, "kind: OperatorStatus\n") {
		t.Errorf("one: exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
}
