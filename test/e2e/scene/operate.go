//go:build e2e

package scene

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// takenOverWithin is how long an operator may take for one wish, and for the death at a step of it.
const takenOverWithin = 2 * time.Minute

// Operate runs operators until something is over. Each dies at the first of the fail points that none died at before,
// as many of them as may; 0 is all.
func (s *Scene) Operate(verb, what string, points []string, deaths int, over func() error) torture.Row {
	s.Helper()
	row := torture.Row{Verb: verb, Where: what, Result: "FAILED", Gap: -1}
	for {
		op := s.Operator(points)
		row.Runs++
		done := errors.New("the operator ended")
		s.OK(harness.Until(s.Ctx, takenOverWithin, what+" to end, or the operator", func(context.Context) error {
			if op.Ended() {
				return nil
			}
			done = over()
			return done
		}))
		if done == nil {
			s.OK(op.Signal(syscall.SIGTERM))
		}
		r, err := op.Wait()
		s.OK(err)
		if done == nil {
			break
		}
		point := torture.DiedAt(r)
		if !slices.Contains(points, point) {
			s.Fatalf("%s: the operator was to die at one of %v:\n%s", what, points, r)
		}
		s.Logf("%s: died at %s after %s", what, point, r.Duration.Round(100*time.Millisecond))
		points = slices.DeleteFunc(points, func(p string) bool { return p == point })
		if row.Runs == deaths {
			points = nil
		}
	}
	// Within and after a step nobody may be met: it is done when that is seen, and may take one try. Before it somebody
	// always is.
	if row.Runs < 2 || slices.ContainsFunc(points, func(p string) bool { return strings.HasPrefix(p, "before:") }) {
		s.Errorf("%s: %d operators died, none at %v", what, row.Runs-1, points)
	}
	if !s.Failed() {
		row.Result = fmt.Sprintf("ok, killed at %d fail points, one by one", row.Runs-1)
	}
	return row
}
