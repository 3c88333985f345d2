package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"text/tabwriter"
	"time"
)

// row is one figure, as it is in docs/bench.json.
type row struct {
	Measure string `json:"measure"`
	// Engine is the engine of the databases that were measured, "none" where there was no database.
	Engine string  `json:"engine"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	// Bar is the most that is acceptable; none for a figure that only explains another.
	Bar *float64 `json:"bar"`
	// Baseline says what the value was held against in the same run, and how far the runs spread.
	Baseline string `json:"baseline"`
	Date     string `json:"date"`
}

// rows are the figures of one run.
type rows []row

// digits is how many decimal places a figure keeps: more would be noise.
const digits = 1000

// judged adds a figure that has a bar.
func (r *rows) judged(measure string, value float64, unit string, bar float64, baseline string) {
	r.add(row{Measure: measure, Value: value, Unit: unit, Bar: &bar, Baseline: baseline})
}

// plain adds a figure without a bar.
func (r *rows) plain(measure string, value float64, unit, baseline string) {
	r.add(row{Measure: measure, Value: value, Unit: unit, Baseline: baseline})
}

func (r *rows) add(one row) {
	one.Value = math.Round(one.Value*digits) / digits
	one.Baseline += "; load average " + load()
	one.Date = time.Now().UTC().Format(time.RFC3339)
	*r = append(*r, one)
	fmt.Printf("%s: %s %s (%s)\n", one.Measure, number(one.Value), one.Unit, one.Baseline)
}

// print shows all figures.
func (r rows) print(out io.Writer) {
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "MEASURE\tENGINE\tVALUE\tBAR\tRESULT\tBASELINE")
	for _, one := range r {
		bar, result := "-", "-"
		if one.Bar != nil {
			bar, result = number(*one.Bar), "met"
			if one.Value > *one.Bar {
				result = "MISSED"
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s %s\t%s\t%s\t%s\n", one.Measure, one.Engine, number(one.Value), one.Unit, bar, result,
			one.Baseline)
	}
	_ = w.Flush()
}

// write replaces the file of results. Figures of measures that did not run
// this time stay as they are, with their date.
func (r rows) write(path string) error {
	var out rows
	raw, err := os.ReadFile(path) // #nosec G304 -- the caller names the file
	switch {
	case os.IsNotExist(err):
	case err != nil:
		return fmt.Errorf("read the last results: %w", err)
	default:
		if err := json.Unmarshal(raw, &out); err != nil {
			return fmt.Errorf("read the last results of %s: %w", path, err)
		}
	}
	for _, one := range r {
		out.put(one)
	}
	raw, err = json.MarshalIndent(out, "", "  ")
	if err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	if err := os.WriteFile(path, append(raw, '\n'), 0o644); err != nil { // #nosec G306 -- for everybody to read
		return fmt.Errorf("write the results: %w", err)
	}
	return nil
}

// put replaces the figure of the same measure and engine, or adds one.
func (r *rows) put(one row) {
	for i := range *r {
		if (*r)[i].Measure == one.Measure && (*r)[i].Engine == one.Engine {
			(*r)[i] = one
			return
		}
	}
	*r = append(*r, one)
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
