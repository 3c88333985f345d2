package diagnostics

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

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
	tables := printer.NewTables(printer.FormatWide)
	if err := sheet.print(&out, printer.Palette{}, time.Now(), tables); err != nil {
		t.Fatal(err)
	}
	for _, unreachable := range []bool{true, false} {
		sheet.Members[0].Reachable = unreachable
		if err := sheet.print(&out, printer.Palette{}, time.Now(), tables); err != nil {
			t.Fatal(err)
		}
	}
	printProblems(&out, printer.Palette{},
		[]observation{{target: &clients.Target{Cluster: &v1alpha1.DatabaseCluster{}}, sheet: &sheet}}, false)
	if strings.ContainsAny(out.String(), "\x1b\r") || strings.Contains(out.String(), "\nHEALTHY") {
		t.Errorf("%q", out.String())
	}
	if !strings.Contains(out.String(), "Held by:") || !strings.Contains(out.String(), "step: a?[2J HEALTHY") {
		t.Errorf("something is not printed:\n%s", out.String())
	}
}
