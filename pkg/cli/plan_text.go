package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// writePlan prints a plan for people: what happens, why, what it costs.
func writePlan(w io.Writer, paint palette, subject, namespace string, p ops.Plan, withBlock bool) {
	if p.Unchanged() {
		fmt.Fprintf(w, "Nothing to do: %s in namespace %s is as asked already.\n", subject, namespace)
		return
	}
	fmt.Fprintf(w, "%s\n", paint.bold(fmt.Sprintf("Plan: %s %s in namespace %s, %s", p.Verb, subject, namespace, plural(len(p.Steps), "step"))))
	var before ops.Step
	for i, s := range p.Steps {
		fmt.Fprintf(w, "%3d. %s\n", i+1, oneLine(s.Title))
		for _, line := range remarks(s, before) {
			fmt.Fprintf(w, "     %s\n", paint.faint(oneLine(line)))
		}
		before = s
	}
	if len(p.Steps) > 0 {
		fmt.Fprintf(w, "Restarts:         %s\n", orNone(p.Restarts))
		fmt.Fprintf(w, "Leadership moves: %s\n", orNone(p.LeaderMoves))
		fmt.Fprintf(w, "Can't be undone:  %s\n", orNone(p.Irreversible))
		if len(p.Kept) > 0 {
			fmt.Fprintf(w, "Kept:             volumes %s; their data comes back with: %s create %s --from-volumes\n",
				strings.Join(p.Kept, ", "), displayName, p.Cluster)
		}
	}
	if b := p.Blocked; b != nil && withBlock {
		where := "before the first step"
		if len(p.Steps) > 0 {
			where = fmt.Sprintf("after step %d", len(p.Steps))
		}
		fmt.Fprintf(w, "%s %s: %s\n", paint.red("Blocked"), where, oneLine(b.Message))
		if b.Hint != "" {
			fmt.Fprintf(w, "%s %s\n", paint.yellow("hint:"), oneLine(b.Hint))
		}
	}
}

// remarks are the lines below a step's title. Who leads and how many failures
// are tolerated are told where they change.
func remarks(s, before ops.Step) []string {
	var out []string
	if s.Reason != "" {
		out = append(out, "why: "+oneLine(s.Reason))
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
	return "tolerates " + plural(tolerates, "failure")
}

func orNone(items []string) string {
	if len(items) == 0 {
		return "none"
	}
	return oneLine(strings.Join(items, ", "))
}
