package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// printFindings writes one line a finding, and below it what it rests on and
// what to do. Of what is well the evidence is shown only on request.
func printFindings(w io.Writer, paint palette, all []ops.Finding, wide bool) {
	width := 0
	for _, f := range all {
		width = max(width, len(f.Subject))
	}
	indent := strings.Repeat(" ", len(ops.Fail)+2)
	for _, f := range all {
		fmt.Fprintf(w, "%s  %-*s  %s\n", severity(paint, f.Severity), width, ops.Printable(f.Subject), oneLine(f.What))
		if wide || f.Severity != ops.OK {
			for _, e := range f.Evidence {
				fmt.Fprintf(w, "%s%s\n", indent, paint.faint("seen: "+oneLine(e)))
			}
		}
		for _, r := range f.Remedy {
			fmt.Fprintf(w, "%s%s\n", indent, paint.bold("do:   "+oneLine(r)))
		}
	}
}

// severity is padded before it is painted: escapes have no width.
func severity(paint palette, s ops.Severity) string {
	text := fmt.Sprintf("%-*s", len(ops.Fail), s)
	switch s {
	case ops.OK:
		return paint.green(text)
	case ops.Warn:
		return paint.yellow(text)
	default:
		return paint.red(text)
	}
}

// tally counts the findings in words.
func tally(all []ops.Finding) string {
	return fmt.Sprintf("%d failed, %s, %d well", ops.Count(all, ops.Fail), plural(ops.Count(all, ops.Warn), "warning"), ops.Count(all, ops.OK))
}
