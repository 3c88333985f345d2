package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/progress"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// TestNoEscapeReachesTheTerminal prints hostile texts in a table and in an error.
func TestNoEscapeReachesTheTerminal(t *testing.T) {
	var out bytes.Buffer
	table := printer.NewTables().NewTable("NAME")
	table.Row("my-db\x1b[2J\rHEALTHY")
	if err := table.Print(&out, ""); err != nil {
		t.Fatal(err)
	}
	step := ops.Step{Title: "Replace a\x1b[2Jb", Reason: "it says\r\a", Members: []string{"\x1b[1A"},
		Risk: ops.RiskRestart}
	_ = command.WritePlan(&out, printer.Palette{}, "fakedb/my-db", "shop",
		ops.Plan{Verb: "restart", Steps: []ops.Step{step}, Restarts: step.Members}, true, true)
	r := progress.NewPlain(&out)
	r.Started(step)
	r.Waiting(step, "\x1b[2J")
	r.Done(step, 0, errors.New("\x1b[2J"))
	r.Note("\x1b[2J")
	r.Close()
	printer.PrintFindings(&out, printer.Palette{},
		[]ops.Finding{{Severity: ops.Fail, Subject: "a\x1b[2J", What: "b\r\a", Evidence: []string{"\x1b"}}}, true)
	printError(&out, printer.Palette{}, nil, errors.New("member \x1b[2J\rsays \x1b]0;x\a"))
	if strings.ContainsAny(out.String(), "\x1b\r\a") {
		t.Errorf("%q", out.String())
	}
}

// TestNoEscapeInANote: notes quote hosts, paths and errors.
func TestNoEscapeInANote(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	(&command.Factory{Config: command.Config{Streams: progress.Streams{Err: &out}}}).Note("left out: %s",
		"a\x1b[2J\r\nHEALTHY")
	if strings.ContainsAny(out.String(), "\x1b\r") {
		t.Errorf("%q", out.String())
	}
}
