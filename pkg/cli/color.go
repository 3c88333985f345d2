package cli

import (
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// palette paints text, or leaves it alone.
type palette struct{ on bool }

// The values of --color.
const (
	colorAuto   = "auto"
	colorAlways = "always"
	colorNever  = "never"
)

// newPalette decides for one stream. Only "always" overrules NO_COLOR, a dumb
// terminal and a stream that is no terminal.
func newPalette(mode string, tty bool, getenv func(string) string) palette {
	switch mode {
	case colorAlways:
		return palette{on: true}
	case colorNever:
		return palette{}
	}
	return palette{on: tty && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"}
}

func (p palette) paint(code int, s string) string {
	if !p.on || s == "" {
		return s
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", code, s)
}

func (p palette) bold(s string) string   { return p.paint(1, s) }
func (p palette) faint(s string) string  { return p.paint(2, s) }
func (p palette) red(s string) string    { return p.paint(31, s) }
func (p palette) green(s string) string  { return p.paint(32, s) }
func (p palette) yellow(s string) string { return p.paint(33, s) }

// level is a verdict's level as it stands at the top of a screen.
func (p palette) level(l health.Level) string {
	text := strings.ToUpper(string(l))
	switch l {
	case health.Healthy:
		return p.green(text)
	case health.Degraded, health.Unknown:
		return p.yellow(text)
	default:
		return p.red(text)
	}
}
