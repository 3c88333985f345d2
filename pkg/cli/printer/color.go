package printer

import (
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// Palette paints text, or leaves it alone.
type Palette struct{ on bool }

// The values of --color.
const (
	ColorAuto   = "auto"
	ColorAlways = "always"
	ColorNever  = "never"
)

// NewPalette decides for one stream. Only "always" overrules NO_COLOR, a dumb
// terminal and a stream that is no terminal.
func NewPalette(mode string, tty bool, getenv func(string) string) Palette {
	switch mode {
	case ColorAlways:
		return Palette{on: true}
	case ColorNever:
		return Palette{}
	}
	return Palette{on: tty && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"}
}

func (p Palette) paint(code int, s string) string {
	if !p.on || s == "" {
		return s
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", code, s)
}

func (p Palette) Bold(s string) string { return p.paint(1, s) }

func (p Palette) Faint(s string) string { return p.paint(2, s) }

func (p Palette) Red(s string) string { return p.paint(31, s) }

func (p Palette) Green(s string) string { return p.paint(32, s) }

func (p Palette) Yellow(s string) string { return p.paint(33, s) }

// Level is a verdict's level as it is shown at the top of a screen.
func (p Palette) Level(l health.Level) string {
	text := strings.ToUpper(string(l))
	switch l {
	case health.Healthy:
		return p.Green(text)
	case health.Degraded, health.Unknown:
		return p.Yellow(text)
	default:
		return p.Red(text)
	}
}
