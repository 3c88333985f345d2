package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// ttyReporter keeps finished steps above and redraws what is going on below.
type ttyReporter struct {
	w     io.Writer
	paint printer.Palette
	width func() int

	mu      sync.Mutex
	count   counting
	plan    []ops.Step
	doing   ops.Step
	active  bool
	why     string
	began   time.Time
	moved   stream
	frame   int
	drawn   int
	stop    chan struct{}
	ended   chan struct{}
	stopped sync.Once
}

const redraw = 120 * time.Millisecond

// frames is the spinner.
const frames = "|/-\\"

func newTTYReporter(w io.Writer, paint printer.Palette, width func() int) *ttyReporter {
	r := &ttyReporter{w: w, paint: paint, width: width, stop: make(chan struct{}), ended: make(chan struct{})}
	go r.animate()
	return r
}

func (r *ttyReporter) animate() {
	defer close(r.ended)
	ticker := time.NewTicker(redraw)
	defer ticker.Stop()
	for {
		select {
		case <-r.stop:
			return
		case <-ticker.C:
			r.mu.Lock()
			r.frame++
			r.draw()
			r.mu.Unlock()
		}
	}
}

// erase takes back the lines that draw wrote.
func (r *ttyReporter) erase() {
	if r.drawn > 0 {
		fmt.Fprintf(r.w, "\x1b[%dA\x1b[J", r.drawn)
	}
	r.drawn = 0
}

// draw writes the step in hand, why it waits, and what comes next.
func (r *ttyReporter) draw() {
	r.erase()
	if !r.active {
		return
	}
	now := time.Now()
	head := fmt.Sprintf("%c %s %s  %s", frames[r.frame%len(frames)], r.count.label(), r.doing.Title,
		printer.Span(now.Sub(r.began)))
	if moved := r.moved.text(now); moved != "" {
		head += "  " + bar(r.moved) + moved
	}
	lines := []string{head}
	if r.why != "" {
		lines = append(lines, "    "+r.why)
	}
	if next := r.next(); next != "" {
		lines = append(lines, "  then: "+printer.OneLine(next))
	}
	for i, l := range lines {
		l = cut(l, r.width()-1)
		if i > 0 {
			l = r.paint.Faint(l)
		}
		fmt.Fprintln(r.w, l)
	}
	r.drawn = len(lines)
}

// next is the title of the planned step after the one in hand.
func (r *ttyReporter) next() string {
	for i, s := range r.plan {
		if s.ID == r.doing.ID {
			for _, after := range r.plan[i+1:] {
				if after.Action != ops.ActionWait {
					return after.Title
				}
			}
		}
	}
	return ""
}

// bar draws how far a transfer of known size is.
func bar(s stream) string {
	const cells = 20
	if s.total <= 0 {
		return ""
	}
	full := int(min(cells*s.bytes/s.total, cells))
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", cells-full) + "] "
}

// cut shortens a line to a terminal's width. A line that wrapped would take
// two rows, and only one of them would be erased.
func cut(line string, width int) string {
	runes := []rune(line)
	switch {
	case len(runes) <= width:
		return line
	case width < 4:
		return string(runes[:max(width, 1)])
	default:
		return string(runes[:width-3]) + "..."
	}
}

// above writes a line that stays, and redraws the rest below it.
func (r *ttyReporter) above(line string) {
	r.erase()
	fmt.Fprintln(r.w, line)
	r.draw()
}

func (r *ttyReporter) turnTo(s ops.Step) {
	r.doing, r.active, r.why, r.began = s, true, "", time.Now()
	r.moved = stream{began: r.began}
}

// Planned implements ops.Reporter.
func (r *ttyReporter) Planned(p ops.Plan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count.planned(p)
	r.plan = p.Steps
}

// Started implements ops.Reporter.
func (r *ttyReporter) Started(s ops.Step) {
	s.Title = printer.OneLine(s.Title)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count.number++
	r.turnTo(s)
	r.draw()
}

// Done implements ops.Reporter.
func (r *ttyReporter) Done(s ops.Step, took time.Duration, err error) {
	s.Title = printer.OneLine(s.Title)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active = false
	if err != nil {
		r.above(r.paint.Red("x") + fmt.Sprintf(" %s %s  %s", r.count.label(), s.Title, printer.Span(took)))
		return
	}
	r.above(r.paint.Green("✓") + fmt.Sprintf(" %s %s  %s", r.count.label(), s.Title, printer.Span(took)))
}

// Waiting implements ops.Reporter.
func (r *ttyReporter) Waiting(s ops.Step, why string) {
	s.Title = printer.OneLine(s.Title)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.active || r.doing.ID != s.ID {
		r.turnTo(s)
	}
	r.why = printer.OneLine(why)
	r.draw()
}

// Progress implements ops.Reporter; the next redraw shows it.
func (r *ttyReporter) Progress(_ ops.Step, bytes, total int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moved.bytes, r.moved.total = bytes, total
}

// Note implements ops.Reporter.
func (r *ttyReporter) Note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.above(r.paint.Yellow("note:") + " " + printer.OneLine(text))
}

// Close implements reporter: nothing is drawn after it returns.
func (r *ttyReporter) Close() {
	r.stopped.Do(func() {
		close(r.stop)
		<-r.ended
		r.mu.Lock()
		defer r.mu.Unlock()
		r.active = false
		r.erase()
	})
}
