package cli

import (
	"os"
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// envDieAt names a step boundary at which the process kills itself, for tests
// of continuation: "before:ACTION", "after:ACTION/MEMBER", "within:ACTION"
// between two tries, with "#2" for the second time.
const envDieAt = "DBOP_TEST_DIE_AT"

// boundary dies as the environment says; nil without it.
func (l *live) boundary() func(string, ops.Step) {
	where, count, _ := strings.Cut(l.f.Getenv(envDieAt), "#")
	if where == "" {
		return nil
	}
	left, err := strconv.Atoi(count)
	if err != nil {
		left = 1
	}
	return func(when string, s ops.Step) {
		here := when + ":" + string(s.Action)
		if where != here && where != when+":"+s.ID {
			return
		}
		if left--; left > 0 {
			return
		}
		if p, err := os.FindProcess(os.Getpid()); err == nil {
			_ = p.Kill()
		}
		select {} // the kill is on its way
	}
}
