//go:build e2e

package torture

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// Ledger collects what came of each case, for the table in the docs.
type Ledger struct {
	mu   sync.Mutex
	rows []Row
}

// Row is one case.
type Row struct {
	Verb, Where, Result string
	// Runs of the command until it was done.
	Runs int
	// Gap between two acknowledged writes; negative where nobody wrote.
	Gap time.Duration
}

// Add notes a case.
func (l *Ledger) Add(r Row) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows = append(l.rows, r)
}

// The lines of docs/reliability.md between which the table is.
const (
	tableBegins = "<!-- torture: begin -->"
	tableEnds   = "<!-- torture: end -->"
)

// Write prints the table, and keeps that of a full run in the docs: a section
// for each verb, of which those stay that this run did not try.
func (l *Ledger) Write(t *testing.T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sections := map[string]string{}
	for _, verb := range l.verbs() {
		sections[verb] = l.table(verb)
		t.Logf("%s\n%s", verb, sections[verb])
	}
	if !Full() {
		return
	}
	site, err := harness.NewSite()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(site.Root, "docs", "reliability.md")
	defer alone(t, path)()
	raw, err := os.ReadFile(path) //nolint:gosec // a file of this repository
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(raw), tableBegins)
	kept, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		t.Fatalf("%s has no place for the table", path)
	}
	for _, old := range strings.Split(kept, sectionBegins)[1:] {
		verb, text, _ := strings.Cut(old, "\n")
		if _, tried := sections[verb]; !tried {
			sections[verb] = strings.TrimSpace(text)
		}
	}
	var body strings.Builder
	for _, verb := range slices.Sorted(maps.Keys(sections)) {
		fmt.Fprintf(&body, "%s%s\n\n%s", sectionBegins, verb, sections[verb])
	}
	written := before + tableBegins + body.String() + "\n" + tableEnds + after
	if err := os.WriteFile(path, []byte(written), 0o600); err != nil { //nolint:gosec // as above
		t.Fatal(err)
	}
}

// alone keeps other tests that end at the same time from the file.
func alone(t *testing.T, path string) func() {
	t.Helper()
	f, err := os.Open(path) //nolint:gosec // as above
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return func() { _ = f.Close() }
}

// sectionBegins is before the verb.
const sectionBegins = "\n\n### "

func (l *Ledger) verbs() []string {
	var out []string
	for _, r := range l.rows {
		if !slices.Contains(out, r.Verb) {
			out = append(out, r.Verb)
		}
	}
	return out
}

func (l *Ledger) table(verb string) string {
	var b strings.Builder
	n := 0
	b.WriteString("| case | runs | result | longest write gap |\n|---|---|---|---|\n")
	for _, r := range l.rows {
		if r.Verb != verb {
			continue
		}
		gap := "no client"
		if r.Gap >= 0 {
			gap = fmt.Sprintf("%d ms", r.Gap.Milliseconds())
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %s |\n", r.Where, r.Runs, r.Result, gap)
		n++
	}
	return fmt.Sprintf("%d cases, %s.\n\n%s", n, time.Now().UTC().Format("2006-01-02 15:04 MST"),
		strings.TrimSpace(b.String()))
}
