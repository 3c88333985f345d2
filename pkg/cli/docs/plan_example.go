package docs

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
)

// PlanExamples turns the examples of all below into ones of plan.
func PlanExamples(parent *cobra.Command) {
	for _, verb := range parent.Commands() {
		verb.Example = planExample(verb.Example)
		PlanExamples(verb)
	}
}

// planExample turns the first example of a verb into one of plan.
func planExample(example string) string {
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
