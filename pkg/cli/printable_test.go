package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
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
