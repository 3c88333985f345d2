//go:build e2e

package torture

import (
	"maps"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// envDieAt tells the binary of the tests where to die.
const envDieAt = "DBOP_TEST_DIE_AT"

// Mortal is the tool that dies at the first of the fail points that it reaches.
func Mortal(cli harness.Command, points ...string) harness.Command {
	cli.Env = maps.Clone(cli.Env)
	cli.Env[envDieAt] = strings.Join(points, " ")
	return cli
}

// DiedAt is the fail point at which the tool killed itself, "" for none.
func DiedAt(r harness.Result) string {
	_, point, _ := strings.Cut(r.Stderr, "dying at ")
	point, _, _ = strings.Cut(point, "\n")
	if !r.Killed() {
		return ""
	}
	return point
}

// FailPoints are the points of a plan's steps: before and after each, and within those that take several tries.
// Where the second part of a step's name is only known at run time, the action is alone.
func FailPoints(steps []string) []string {
	var out []string
	seen := map[string]int{}
	for _, id := range steps {
		action, member, _ := strings.Cut(id, "/")
		point := id
		switch {
		case strings.Contains(member, ","), action == "backup", action == "verify-backup", action == "hand-over":
			point = action
		case action == "wait":
			continue
		}
		if seen[point]++; seen[point] > 1 {
			continue
		}
		out = append(out, "before:"+point)
		if slices.Contains([]string{"verify-backup", "load-backup", "stop-members", "retire-member", "upgrade-member",
			"downgrade-member", "restart-member", "roll-member", "renew-certificate", "fence-members", "examine-volume",
			"recover-data"}, action) {
			out = append(out, "within:"+point)
		}
		out = append(out, "after:"+point)
	}
	return out
}
