//go:build e2e

package etcd

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// torture asks for every fail point instead of a selection.
func torture() bool { return os.Getenv("DBOP_TORTURE") == "all" }

// usualSeed makes the selection of make test, the same in every run: a red one
// is to mean that the change is bad, not the draw.
const usualSeed = 20261122

// seed is that of this run, which it prints.
func seed(t *testing.T) uint64 {
	t.Helper()
	seed := seedOf(t)
	fmt.Printf("seed of %s: DBOP_SEED=%d\n", t.Name(), seed)
	return seed
}

// seedOf is the seed of this run: DBOP_SEED, a number, or "any" for a new one.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	switch text := os.Getenv("DBOP_SEED"); text {
	case "":
		return usualSeed
	case "any":
		return uint64(os.Getpid()) // #nosec G115 -- any number will do; all tests of a run have the same
	default:
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("DBOP_SEED: %v", err)
		}
		return seed
	}
}

// ledger collects what came of each case, for the table in the docs.
type ledger struct {
	seed uint64
	mu   sync.Mutex
	rows []row
}

type row struct {
	verb, where, result string
	// runs of the command until it was done.
	runs int
	// gap between two acknowledged writes; negative where nobody wrote.
	gap time.Duration
}

func (l *ledger) add(r row) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows = append(l.rows, r)
}

// The lines of docs/reliability.md between which the table is.
const (
	tableBegins = "<!-- torture: begin -->"
	tableEnds   = "<!-- torture: end -->"
)

// write prints the table, and keeps that of a full run in the docs: a section
// for each verb, of which those stay that this run did not try.
func (l *ledger) write(t *testing.T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sections := map[string]string{}
	for _, verb := range l.verbs() {
		sections[verb] = l.table(verb)
		t.Logf("%s\n%s", verb, sections[verb])
	}
	if !torture() {
		return
	}
	site, err := harness.NewSite()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(site.Root, "docs", "reliability.md")
	defer alone(t, path)()
	raw, err := os.ReadFile(path)
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
	if err := os.WriteFile(path, []byte(before+tableBegins+body.String()+"\n"+tableEnds+after), 0o600); err != nil {
		t.Fatal(err)
	}
}

// alone keeps other tests that end at the same time from the file.
func alone(t *testing.T, path string) func() {
	t.Helper()
	f, err := os.Open(path)
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

func (l *ledger) verbs() []string {
	var out []string
	for _, r := range l.rows {
		if !slices.Contains(out, r.verb) {
			out = append(out, r.verb)
		}
	}
	return out
}

func (l *ledger) table(verb string) string {
	var b strings.Builder
	n := 0
	b.WriteString("| case | runs | result | longest write gap |\n|---|---|---|---|\n")
	for _, r := range l.rows {
		if r.verb != verb {
			continue
		}
		gap := "no client"
		if r.gap >= 0 {
			gap = fmt.Sprintf("%d ms", r.gap.Milliseconds())
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %s |\n", r.where, r.runs, r.result, gap)
		n++
	}
	return fmt.Sprintf("%d cases, %s.\n\n%s", n, time.Now().UTC().Format("2006-01-02 15:04 MST"),
		strings.TrimSpace(b.String()))
}
