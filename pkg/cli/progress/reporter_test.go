package progress

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/golden"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// story is what a reporter hears in a short operation.
func story(r Reporter) {
	one := ops.Step{ID: "backup/x", Action: ops.ActionBackup, Title: "Back up my-db-1"}
	two := ops.Step{ID: "upgrade-member/my-db-1", Action: ops.ActionUpgrade, Title: "Restart my-db-1"}
	r.Planned(ops.Plan{Verb: "upgrade", Cluster: "my-db",
		Steps: []ops.Step{one, {ID: "wait/w", Action: ops.ActionWait, Title: "Wait"}, two}})
	r.Started(one)
	r.Progress(one, 10<<20, 40<<20)
	time.Sleep(31 * time.Second)
	r.Progress(one, 20<<20, 40<<20)
	time.Sleep(9 * time.Second)
	r.Done(one, 40*time.Second, nil)
	r.Waiting(ops.Step{ID: "wait/w", Action: ops.ActionWait, Title: "Wait"}, "my-db-2 does\nnot answer")
	time.Sleep(5 * time.Second)
	r.Note("the lease was taken over")
	r.Started(two)
	r.Done(two, 1500*time.Millisecond, errors.New("no such image"))
	r.Close()
	r.Close()
}

func TestPlainReporter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		story(NewPlain(&b))
		golden.Compare(t, "reporter_plain", b.String())
		if strings.Contains(b.String(), "\x1b") {
			t.Error("plain lines hold escapes")
		}
	})
}

func TestTTYReporter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		story(newTTYReporter(&b, printer.Palette{}, func() int { return 60 }))
		screen := replay(b.String(), 200)
		golden.Compare(t, "reporter_tty", screen)
		for line := range strings.Lines(b.String()) {
			if n := len([]rune(strings.TrimSpace(line))); n > 70 {
				t.Errorf("%d columns: %q", n, line)
			}
		}
	})
}

// TestNarrowTerminals: what is drawn again never wraps, or rows of it would stay.
func TestNarrowTerminals(t *testing.T) {
	for _, width := range []int{40, 20, 5, 3, 2} {
		synctest.Test(t, func(t *testing.T) {
			var wide, narrow bytes.Buffer
			story(newTTYReporter(&wide, printer.Palette{}, func() int { return 200 }))
			story(newTTYReporter(&narrow, printer.Palette{}, func() int { return width }))
			var want strings.Builder
			for line := range strings.Lines(replay(wide.String(), 200)) {
				want.WriteString(wrapped(strings.TrimSuffix(line, "\n"), width))
			}
			if diff := cmp.Diff(want.String(), replay(narrow.String(), width)); diff != "" {
				t.Errorf("%d columns: %s", width, diff)
			}
		})
	}
}

// wrapped breaks a line as a terminal of that width does.
func wrapped(line string, width int) string {
	var b strings.Builder
	for runes := []rune(line); ; runes = runes[width:] {
		if len(runes) <= width {
			return b.String() + string(runes) + "\n"
		}
		b.WriteString(string(runes[:width]) + "\n")
	}
}

// replay is what a terminal of that width shows in the end, row by row.
func replay(text string, width int) string {
	var rows []string
	for line := range strings.Lines(text) {
		for strings.HasPrefix(line, "\x1b[") {
			up := int(line[2] - '0')
			rows = rows[:len(rows)-up]
			line = strings.TrimPrefix(line[4:], "\x1b[J")
		}
		if line != "" {
			rows = append(rows,
				strings.SplitAfter(strings.TrimSuffix(wrapped(strings.TrimSuffix(line, "\n"), width), "\n"), "\n")...)
			rows[len(rows)-1] += "\n"
		}
	}
	return strings.Join(rows, "")
}

func TestJSONReporter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		story(&jsonReporter{w: &b, now: func() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }})
		for line := range strings.Lines(b.String()) {
			if !json.Valid([]byte(line)) {
				t.Errorf("not JSON: %s", line)
			}
		}
		golden.Compare(t, "reporter_json", b.String())
	})
}

func TestReporterFollowsTheFlagBeforeTheTerminal(t *testing.T) {
	s := Streams{Err: &bytes.Buffer{}, Size: func() (int, int) { return 80, 24 }}
	for mode, want := range map[string]bool{Auto: true, Plain: false, JSON: false, None: false} {
		r := New(mode, s, true, printer.Palette{}, time.Now)
		if _, animated := r.(*ttyReporter); animated != want {
			t.Errorf("--progress=%s on a terminal is %T", mode, r)
		}
		r.Close()
	}
	r := New(Auto, s, false, printer.Palette{}, time.Now)
	defer r.Close()
	if _, plain := r.(*plainReporter); !plain {
		t.Errorf("--progress=auto without terminal is %T", r)
	}
}
