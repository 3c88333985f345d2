package printer

import (
	"fmt"
	"io"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// PrintFindings writes one line a finding, and below it what it rests on and
// what to do. Of what is well the evidence is shown only on request.
func PrintFindings(w io.Writer, paint Palette, all []ops.Finding, wide bool) {
	width := 0
	for _, f := range all {
		width = max(width, len(f.Subject))
	}
	indent := strings.Repeat(" ", len(ops.Fail)+2)
	for _, f := range all {
		fmt.Fprintf(w, "%s  %-*s  %s\n", severity(paint, f.Severity), width, ops.Printable(f.Subject), OneLine(f.What))
		if wide || f.Severity != ops.OK {
			for _, e := range f.Evidence {
				fmt.Fprintf(w, "%s%s\n", indent, paint.Faint("seen: "+OneLine(e)))
			}
		}
		for _, r := range f.Remedy {
			fmt.Fprintf(w, "%s%s\n", indent, paint.Bold("do:   "+OneLine(r)))
		}
	}
}

// severity is padded before it is painted: escapes have no width.
func severity(paint Palette, s ops.Severity) string {
	text := fmt.Sprintf("%-*s", len(ops.Fail), s)
	switch s {
	case ops.OK:
		return paint.Green(text)
	case ops.Warn:
		return paint.Yellow(text)
	default:
		return paint.Red(text)
	}
}

// Tally counts the findings in words.
func Tally(all []ops.Finding) string {
	return fmt.Sprintf("%d failed, %s, %d OK", ops.Count(all, ops.Fail), Plural(ops.Count(all, ops.Warn), "warning"),
		ops.Count(all, ops.OK))
}
