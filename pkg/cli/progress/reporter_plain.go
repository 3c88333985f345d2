package progress

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// plainReporter writes one line per change, and a heartbeat, for logs.
type plainReporter struct {
	w io.Writer

	mu      sync.Mutex
	count   counting
	doing   string
	why     string
	began   time.Time
	moved   stream
	stop    chan struct{}
	stopped sync.Once
}

// NewPlain writes one line for each change of state.
func NewPlain(w io.Writer) *plainReporter {
	r := &plainReporter{w: w, stop: make(chan struct{})}
	go r.beat()
	return r
}

// beat tells every half minute that a step goes on.
func (r *plainReporter) beat() {
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-r.stop:
			return
		case <-ticker.C:
			r.still()
		}
	}
}

func (r *plainReporter) still() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.doing == "" {
		return
	}
	line := fmt.Sprintf("still: %s, %s", r.doing, printer.Span(time.Since(r.began)))
	if moved := r.moved.text(time.Now()); moved != "" {
		line += ", " + moved
	}
	if r.why != "" {
		line += ": " + r.why
	}
	fmt.Fprintln(r.w, line)
}

// Planned implements ops.Reporter.
func (r *plainReporter) Planned(p ops.Plan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count.planned(p)
	fmt.Fprintf(r.w, "plan: %s of %s, %s\n", p.Verb, p.Cluster, printer.Plural(r.count.total, "step"))
}

// Started implements ops.Reporter.
func (r *plainReporter) Started(s ops.Step) {
	s.Title = printer.OneLine(s.Title)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count.number++
	r.turnTo(s.Title)
	fmt.Fprintf(r.w, "%s %s\n", r.count.label(), s.Title)
}

// Done implements ops.Reporter.
func (r *plainReporter) Done(s ops.Step, took time.Duration, err error) {
	s.Title = printer.OneLine(s.Title)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.doing = ""
	if err != nil {
		fmt.Fprintf(r.w, "failed after %s: %s: %s\n", printer.Span(took), s.Title, printer.OneLine(err.Error()))
		return
	}
	fmt.Fprintf(r.w, "done in %s: %s\n", printer.Span(took), s.Title)
}

// Waiting implements ops.Reporter.
func (r *plainReporter) Waiting(s ops.Step, why string) {
	s.Title = printer.OneLine(s.Title)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.doing != s.Title {
		r.turnTo(s.Title)
	}
	r.why = printer.OneLine(why)
	fmt.Fprintf(r.w, "waiting: %s: %s\n", s.Title, r.why)
}

// Progress implements ops.Reporter; the heartbeat tells it.
func (r *plainReporter) Progress(_ ops.Step, bytes, total int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moved.bytes, r.moved.total = bytes, total
}

// Note implements ops.Reporter.
func (r *plainReporter) Note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.w, "note: %s\n", printer.OneLine(text))
}

// Close implements reporter.
func (r *plainReporter) Close() { r.stopped.Do(func() { close(r.stop) }) }

func (r *plainReporter) turnTo(title string) {
	r.doing, r.why, r.began = title, "", time.Now()
	r.moved = stream{began: r.began}
}
