package cli

import (
	"os"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// envDieAt names step boundaries, separated by blanks, at the first of which
// the process says so and kills itself, for tests of continuation:
// "before:ACTION", "after:ACTION/MEMBER", "within:ACTION" between two tries.
const envDieAt = "DBOP_TEST_DIE_AT"

// boundary dies as the environment says; nil without it.
func (l *live) boundary() func(string, ops.Step) {
	points := strings.Fields(l.f.Getenv(envDieAt))
	if len(points) == 0 {
		return nil
	}
	return func(when string, s ops.Step) {
		for _, here := range []string{when + ":" + s.ID, when + ":" + string(s.Action)} {
			if !slices.Contains(points, here) {
				continue
			}
			l.f.note("dying at %s", here)
			if p, err := os.FindProcess(os.Getpid()); err == nil {
				_ = p.Kill()
			}
			select {} // the kill is on its way
		}
	}
}
