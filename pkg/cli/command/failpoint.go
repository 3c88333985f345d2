//go:build failpoint

package command

import (
	"os"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// envDieAt names fail points, separated by blanks, at the first of which the
// process says so and kills itself: "before:ACTION", "after:ACTION/MEMBER",
// "within:ACTION" between two tries. Only the binary of the tests has them.
const envDieAt = "DBOP_TEST_DIE_AT"

// FailPoint dies as the environment says; nil without it.
func (f *Factory) FailPoint() func(string, ops.Step) {
	points := strings.Fields(f.Getenv(envDieAt))
	if len(points) == 0 {
		return nil
	}
	return func(when string, s ops.Step) {
		for _, here := range []string{when + ":" + s.ID, when + ":" + string(s.Action)} {
			if !slices.Contains(points, here) {
				continue
			}
			f.Note("dying at %s", here)
			if p, err := os.FindProcess(os.Getpid()); err == nil {
				_ = p.Kill()
			}
			select {} // the kill is on its way
		}
	}
}
