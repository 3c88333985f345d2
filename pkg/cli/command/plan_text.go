package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// WritePlan prints a plan for people: what happens, why, what it costs.
func WritePlan(w io.Writer, paint printer.Palette, subject, namespace string, p ops.Plan, withBlock bool) {
	if p.Unchanged() {
		fmt.Fprintf(w, "Nothing to do: %s in namespace %s is as asked already.\n", subject, namespace)
		return
	}
	fmt.Fprintf(w, "%s\n", paint.Bold(fmt.Sprintf("Plan: %s %s in namespace %s, %s", p.Verb, subject, namespace, printer.Plural(len(p.Steps), "step"))))
	var before ops.Step
	for i, s := range p.Steps {
		fmt.Fprintf(w, "%3d. %s\n", i+1, printer.OneLine(s.Title))
		for _, line := range remarks(s, before) {
			fmt.Fprintf(w, "     %s\n", paint.Faint(printer.OneLine(line)))
		}
		before = s
	}
	if len(p.Steps) > 0 {
		fmt.Fprintf(w, "Restarts:         %s\n", printer.OrNone(p.Restarts))
		fmt.Fprintf(w, "Leadership moves: %s\n", printer.OrNone(p.LeaderMoves))
		fmt.Fprintf(w, "Can't be undone:  %s\n", printer.OrNone(p.Irreversible))
		if len(p.Kept) > 0 {
			fmt.Fprintf(w, "Kept:             volumes %s; their data comes back with: %s create %s --from-volumes\n",
				strings.Join(p.Kept, ", "), DisplayName, p.Cluster)
		}
	}
	if b := p.Blocked; b != nil && withBlock {
		where := "before the first step"
		if len(p.Steps) > 0 {
			where = fmt.Sprintf("after step %d", len(p.Steps))
		}
		fmt.Fprintf(w, "%s %s: %s\n", paint.Red("Blocked"), where, printer.OneLine(b.Message))
		if b.Hint != "" {
			fmt.Fprintf(w, "%s %s\n", paint.Yellow("hint:"), printer.OneLine(b.Hint))
		}
	}
}

// remarks are the lines below a step's title. Who leads and how many failures
// are tolerated are told where they change.
func remarks(s, before ops.Step) []string {
	var out []string
	if s.Reason != "" {
		out = append(out, "why: "+printer.OneLine(s.Reason))
	}
	var facts []string
	switch s.Risk {
	case ops.RiskRestart:
		facts = append(facts, "restarts "+strings.Join(s.Members, ", "))
	case ops.RiskDowntime:
		facts = append(facts, "the database is down meanwhile")
	case ops.RiskLeaderMove:
		facts = append(facts, "writes pause for a moment")
	case ops.RiskIrreversible:
		facts = append(facts, "can't be undone")
	}
	if s.Tolerates != nil && (before.Tolerates == nil || *before.Tolerates != *s.Tolerates) {
		facts = append(facts, margin(*s.Tolerates))
	}
	if s.Leader != "" && s.Leader != before.Leader {
		facts = append(facts, s.Leader+" leads")
	}
	if len(facts) > 0 {
		out = append(out, strings.Join(facts, "; "))
	}
	return out
}

// margin is the quorum margin in words.
func margin(tolerates int) string {
	if tolerates < 0 {
		return "no quorum"
	}
	return "tolerates " + printer.Plural(tolerates, "failure")
}
