package command

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// WritePlan prints a plan for people: one line a step, and what it costs. Waits
// are no steps to a person. The wide form has the reason of each step, too.
func WritePlan(w io.Writer, paint printer.Palette, subject, namespace string, p ops.Plan, withBlock, wide bool) error {
	if p.Unchanged() {
		fmt.Fprintf(w, "Nothing to do: %s in namespace %s is as requested already.\n", subject, namespace)
		return nil
	}
	var steps []ops.Step
	for _, s := range p.Steps {
		if s.Action != ops.ActionWait {
			steps = append(steps, s)
		}
	}
	title := fmt.Sprintf("Plan: %s %s in namespace %s, %s", p.Verb, subject, namespace,
		printer.Plural(len(steps), "step"))
	fmt.Fprintf(w, "%s\n", paint.Bold(title))
	if len(steps) > 0 {
		if err := planTable(steps, wide).Print(w, ""); err != nil {
			return err
		}
		for _, line := range planSummary(p, steps) {
			fmt.Fprintf(w, "%-16s %s\n", line[0], printer.OneLine(line[1]))
		}
	}
	if b := p.Blocked; b != nil && withBlock {
		where := "before the first step"
		if len(steps) > 0 {
			where = fmt.Sprintf("after step %d", len(steps))
		}
		fmt.Fprintf(w, "%s %s: %s\n", paint.Red("Blocked"), where, printer.OneLine(b.Message))
		if b.Hint != "" {
			fmt.Fprintf(w, "%s %s\n", paint.Yellow("hint:"), printer.OneLine(b.Hint))
		}
	}
	return nil
}

// planTable is one line a step. What it does is last, because it is as long
// as it is.
func planTable(steps []ops.Step, wide bool) *printer.Table {
	columns := []string{"STEP", "RESTARTS", "LEADER", "TOLERATES", "ACTION"}
	if wide {
		columns = append(columns, "REASON")
	}
	t := printer.NewTables().NewTable(columns...)
	for i, s := range steps {
		restarts := ""
		if restartsMembers(s) {
			restarts = strings.Join(s.Members, ",")
		}
		row := []string{strconv.Itoa(i + 1), restarts, s.Leader, marginText(s.During), s.Title}
		if wide {
			row = append(row, s.Reason)
		}
		t.Row(row...)
	}
	return t
}

func restartsMembers(s ops.Step) bool { return s.Risk == ops.RiskRestart || s.Risk == ops.RiskDowntime }

// marginText is how many more members may be lost while a step runs.
func marginText(n *int) string {
	switch {
	case n == nil:
		return ""
	case *n < 0:
		return "down"
	}
	return strconv.Itoa(*n)
}

// planSummary is what is below the table, each line with its title.
func planSummary(p ops.Plan, steps []ops.Step) [][2]string {
	var least *int
	var at, final []string
	for i, s := range steps {
		number := strconv.Itoa(i + 1)
		if s.Irreversible() {
			final = append(final, number)
		}
		switch {
		case s.During == nil || least != nil && *s.During > *least:
			continue
		case least == nil || *s.During < *least:
			least, at = s.During, nil
		}
		at = append(at, number)
	}
	var out [][2]string
	if least != nil {
		text := printer.Plural(*least, "more member") + " may be lost"
		if *least < 0 {
			text = "the database is down"
		}
		out = append(out, [2]string{"Least margin:", text + ", during " + stepNumbers(at, len(steps))})
	}
	out = append(out, [2]string{"Can't be undone:", stepNumbers(final, len(steps))})
	for _, text := range p.Promises {
		out = append(out, [2]string{"Note:", text})
	}
	if len(p.Kept) > 0 {
		text := fmt.Sprintf("volumes %s; their data comes back with: %s create %s --from-volumes",
			strings.Join(p.Kept, ", "), DisplayName, p.Cluster)
		out = append(out, [2]string{"Kept:", text})
	}
	return out
}

// stepNumbers names some of all steps.
func stepNumbers(numbers []string, all int) string {
	switch len(numbers) {
	case 0:
		return "none"
	case 1:
		return "step " + numbers[0]
	case all:
		return "all steps"
	}
	return "steps " + strings.Join(numbers, ", ")
}
