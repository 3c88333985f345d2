package diagnostics_test

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

func TestVersionOfTheOperator(t *testing.T) {
	for name, c := range map[string]struct{ image, line, warning string }{
		"none":          {},
		"the same":      {"ghcr.io/dbop-dev/kubectl-dbop:v1.2.3", "Operator Version: v1.2.3\n", ""},
		"another patch": {"registry:5000/x/kubectl-dbop:v1.2.9", "Operator Version: v1.2.9\n", ""},
		"older": {"ghcr.io/dbop-dev/kubectl-dbop:v1.1.0", "Operator Version: v1.1.0\n",
			"operator upgrade brings the operator"},
		"newer": {"ghcr.io/dbop-dev/kubectl-dbop:v1.10.0", "Operator Version: v1.10.0\n",
			"install the tool of the operator's minor"},
		"a tag and digest": {"registry:5000/kubectl-dbop:v1.1.0@sha256:00", "Operator Version: v1.1.0\n",
			"operator upgrade"},
		"a digest": {"registry:5000/kubectl-dbop@sha256:00",
			"Operator Version: registry:5000/kubectl-dbop@sha256:00\n", ""},
		"a build": {"dbop.test/kubectl-dbop:dev", "Operator Version: dev\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := clitest.New(t)
			b.Image = c.image
			r := b.Run("version")
			if r.Code != exit.Done || !strings.Contains(r.Out, c.line) || c.line == "" &&
				strings.Contains(r.Out, "Operator") {
				t.Errorf("exit %d, stdout %q", r.Code, r.Out)
			}
			if !strings.Contains(r.Err, c.warning) || c.warning == "" && strings.Contains(r.Err, "operator") {
				t.Errorf("stderr %q", r.Err)
			}
			if asked := b.Run("version", "--client"); strings.Contains(asked.Out, "Operator") {
				t.Errorf("--client asked the cluster: %q", asked.Out)
			}
		})
	}
}
