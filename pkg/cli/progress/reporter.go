package progress

import (
	"fmt"
	"io"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// The values of --progress.
const (
	Auto  = "auto"
	Plain = "plain"
	JSON  = "json"
	None  = "none"
)

// Modes are the values of --progress.
func Modes() []string {
	return []string{Auto, Plain, JSON, None}
}

// Reporter is an ops.Reporter that has something to end, such as a redraw.
// Close may be repeated.
type Reporter interface {
	ops.Reporter
	Close()
}

// heartbeat is how often plain lines say that a long step still runs.
const heartbeat = 30 * time.Second

// New chooses how progress is told. Only a terminal gets animation;
// some build services pretend to be one, so an explicit mode wins.
func New(mode string, s Streams, animate bool, paint printer.Palette, now func() time.Time) Reporter {
	switch {
	case mode == JSON:
		return &jsonReporter{w: s.Err, now: now}
	case mode == None:
		return silentReporter{w: s.Err}
	case mode == Auto && animate:
		return newTTYReporter(s.Err, paint, s.width)
	default:
		return NewPlain(s.Err)
	}
}

// silentReporter says nothing but what a person must know.
type silentReporter struct {
	ops.Silent
	w io.Writer
}

// Note implements ops.Reporter.
func (r silentReporter) Note(text string) { fmt.Fprintln(r.w, ops.Printable(text)) }

// Close implements reporter.
func (silentReporter) Close() {}

// counting tells which of how many steps is being performed. A run may take
// more steps than its plan foresaw; then only the number is told.
type counting struct{ number, total int }

func (c *counting) planned(p ops.Plan) {
	c.number, c.total = 0, 0
	for _, s := range p.Steps {
		if s.Action != ops.ActionWait {
			c.total++
		}
	}
}

func (c *counting) label() string {
	if c.number > c.total {
		return fmt.Sprintf("[%d]", c.number)
	}
	return fmt.Sprintf("[%d/%d]", c.number, c.total)
}

// stream measures a transfer.
type stream struct {
	began        time.Time
	bytes, total int64
}

// text tells bytes, rate and time left, as far as known.
func (s stream) text(now time.Time) string {
	if s.bytes == 0 {
		return ""
	}
	out := printer.Size(s.bytes)
	if s.total > 0 {
		out += " of " + printer.Size(s.total)
	}
	took := now.Sub(s.began)
	if took < time.Second {
		return out
	}
	rate := float64(s.bytes) / took.Seconds()
	out += ", " + printer.Size(int64(rate)) + "/s"
	if s.total > s.bytes && rate > 0 {
		out += ", " + printer.Span(time.Duration(float64(s.total-s.bytes)/rate*float64(time.Second))) + " left"
	}
	return out
}
