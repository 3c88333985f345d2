package printer

import (
	"fmt"
	"io"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// Table collects rows and prints them the way kubectl does: no borders, left
// aligned, upper-case titles without spaces. It is the only place that knows
// the table library, whose output changes between its minors.
type Table struct {
	columns []string
	rows    [][]string
	// headless leaves out the titles.
	headless bool
}

// gap is what kubectl puts between two columns.
const gap = "   "

// Row adds one row; an empty value becomes <none>.
func (t *Table) Row(values ...string) {
	r := make([]string, len(t.columns))
	for i := range r {
		r[i] = "<none>"
		if i < len(values) && values[i] != "" {
			r[i] = OneLine(values[i])
		}
	}
	t.rows = append(t.rows, r)
}

// Print writes the table, each line with the given indentation.
func (t *Table) Print(w io.Writer, indent string) error {
	var b strings.Builder
	cells := tw.CellConfig{
		Alignment:  tw.CellAlignment{Global: tw.AlignLeft},
		Padding:    tw.CellPadding{Global: tw.Padding{Right: gap, Overwrite: true}},
		Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone, AutoFormat: tw.Off},
	}
	out := tablewriter.NewTable(&b,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders:  tw.BorderNone,
			Settings: tw.Settings{Lines: tw.LinesNone, Separators: tw.SeparatorsNone},
		})),
		tablewriter.WithConfig(tablewriter.Config{Header: cells, Row: cells}),
		tablewriter.WithTrimSpace(tw.Off),
	)
	if !t.headless {
		out.Header(t.columns)
	}
	for _, r := range t.rows {
		if err := out.Append(r); err != nil {
			return fmt.Errorf("lay out a table: %w", err)
		}
	}
	if err := out.Render(); err != nil {
		return fmt.Errorf("lay out a table: %w", err)
	}
	for line := range strings.Lines(b.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(indent+line, " \n")); err != nil {
			return err
		}
	}
	return nil
}
