package printer

import (
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// Readings are the columns that engines bring to a table, by name: "revision" of
// etcd, "timeline" of PostgreSQL. They come in the order in which the rows first
// name them, and what a later row has in between comes in between: the order is
// the same whichever member leads. A table without rows has none.
type Readings []string

// Add takes the names of a row's readings.
func (r *Readings) Add(row []engine.Reading) {
	next := len(*r)
	for _, one := range row {
		at := slices.Index(*r, one.Name)
		if at < 0 {
			at = next
			*r = slices.Insert(*r, at, one.Name)
		}
		next = at + 1
	}
}

// Columns are the headings, fit for a terminal: names may come from a member.
func (r Readings) Columns() []string {
	out := make([]string, len(r))
	for i, name := range r {
		out[i] = strings.ReplaceAll(strings.ToUpper(OneLine(name)), " ", "-")
	}
	return out
}

// Row returns one value for each column, "" for those that the row lacks.
func (r Readings) Row(row []engine.Reading) []string {
	out := make([]string, len(r))
	for i, name := range r {
		for _, one := range row {
			if one.Name == name {
				out[i] = one.Value
			}
		}
	}
	return out
}
