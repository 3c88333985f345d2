package cli

import (
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// The values of --progress.
const (
	progressAuto  = "auto"
	progressPlain = "plain"
	progressJSON  = "json"
	progressNone  = "none"
)

func progressModes() []string {
	return []string{progressAuto, progressPlain, progressJSON, progressNone}
}

// reporter is an ops.Reporter that has something to end, such as a redraw.
// Close may be repeated.
type reporter interface {
	ops.Reporter
	Close()
}

// heartbeat is how often plain lines say that a long step still runs.
const heartbeat = 30 * time.Second

// newReporter chooses how progress is told. Only a terminal gets animation;
// some build services pretend to be one, so an explicit mode wins.
func (f *Factory) newReporter(progress string) reporter {
	switch {
	case progress == progressJSON:
		return &jsonReporter{w: f.Streams.Err, now: f.Now}
	case progress == progressNone:
		return silentReporter{note: func(text string) { f.note("%s", text) }}
	case progress == progressAuto && f.Streams.ErrTTY && f.Getenv("TERM") != "dumb":
		return newTTYReporter(f.Streams.Err, f.errPalette(), f.Streams.width)
	default:
		return newPlainReporter(f.Streams.Err)
	}
}

// silentReporter says nothing but what a person must know.
type silentReporter struct {
	ops.Silent
	note func(string)
}

// Note implements ops.Reporter.
func (r silentReporter) Note(text string) { r.note(text) }

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
	out := size(s.bytes)
	if s.total > 0 {
		out += " of " + size(s.total)
	}
	took := now.Sub(s.began)
	if took < time.Second {
		return out
	}
	rate := float64(s.bytes) / took.Seconds()
	out += ", " + size(int64(rate)) + "/s"
	if s.total > s.bytes && rate > 0 {
		out += ", " + span(time.Duration(float64(s.total-s.bytes)/rate*float64(time.Second))) + " left"
	}
	return out
}
