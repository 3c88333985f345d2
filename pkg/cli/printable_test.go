package cli

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// TestNoEscapeReachesTheTerminal prints hostile texts in a table and in an error.
func TestNoEscapeReachesTheTerminal(t *testing.T) {
	var out bytes.Buffer
	table := newTables().newTable("NAME")
	table.row("my-db\x1b[2J\rHEALTHY")
	if err := table.print(&out, ""); err != nil {
		t.Fatal(err)
	}
	step := ops.Step{Title: "Replace a\x1b[2Jb", Reason: "it says\r\a", Members: []string{"\x1b[1A"}, Risk: ops.RiskRestart}
	writePlan(&out, palette{}, "fakedb/my-db", "shop", ops.Plan{Verb: "restart", Steps: []ops.Step{step}, Restarts: step.Members}, true)
	r := newPlainReporter(&out)
	r.Started(step)
	r.Waiting(step, "\x1b[2J")
	r.Done(step, 0, errors.New("\x1b[2J"))
	r.Note("\x1b[2J")
	r.Close()
	printFindings(&out, palette{}, []ops.Finding{{Severity: ops.Fail, Subject: "a\x1b[2J", What: "b\r\a", Evidence: []string{"\x1b"}}}, true)
	printError(&out, palette{}, nil, errors.New("member \x1b[2J\rsays \x1b]0;x\a"))
	if strings.ContainsAny(out.String(), "\x1b\r\a") {
		t.Errorf("%q", out.String())
	}
}

// hostile is a text that clears the screen and writes a line of its own.
const hostile = "a\x1b[2J\r\nHEALTHY"

// poison puts the hostile text into every string that a value holds.
func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(hostile)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		poison(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		poison(v.Index(0))
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				poison(field)
			}
		}
	case reflect.Bool:
		v.SetBool(true)
	}
}

// TestNoEscapeInAStatus: whatever a record, a lease or a member holds, the screen
// keeps its lines.
func TestNoEscapeInAStatus(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	sheet := statusSheet{}
	poison(reflect.ValueOf(&sheet).Elem())
	sheet.Verdict.Level = health.Degraded
	tables := newTables(formatWide)
	if err := sheet.print(&out, palette{}, noon, tables); err != nil {
		t.Fatal(err)
	}
	for _, unreachable := range []bool{true, false} {
		sheet.Members[0].Reachable = unreachable
		if err := sheet.print(&out, palette{}, noon, tables); err != nil {
			t.Fatal(err)
		}
	}
	printProblems(&out, palette{}, []look{{target: &target{cluster: &v1alpha1.DatabaseCluster{}}, sheet: &sheet}}, false)
	if strings.ContainsAny(out.String(), "\x1b\r") || strings.Contains(out.String(), "\nHEALTHY") {
		t.Errorf("%q", out.String())
	}
	if !strings.Contains(out.String(), "Held by:") || !strings.Contains(out.String(), "step: a?[2J HEALTHY") {
		t.Errorf("something is not printed:\n%s", out.String())
	}
}

// TestNoEscapeInANote: notes quote hosts, paths and errors.
func TestNoEscapeInANote(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	(&Factory{Config: Config{Streams: Streams{Err: &out}}}).note("left out: %s", hostile)
	if strings.ContainsAny(out.String(), "\x1b\r") {
		t.Errorf("%q", out.String())
	}
}
