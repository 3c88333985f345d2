package docs

import (
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
)

// PlanExample makes an example of plan of the first one of a verb.
func PlanExample(example string) string {
	first, _, _ := strings.Cut(example, "\n\n")
	var out []string
	for line := range strings.Lines(first) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			line = "  # Show the plan: " + strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#"))
		}
		line = strings.Replace(line, command.DisplayName+" ", command.DisplayName+" plan ", 1)
		line = strings.Replace(line, " --yes", "", 1)
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}
