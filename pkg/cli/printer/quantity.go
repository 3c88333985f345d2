package printer

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

const Unknown = "<unknown>"

// Age is a span as kubectl prints it.
func Age(now, then time.Time) string {
	if then.IsZero() {
		return Unknown
	}
	return duration.HumanDuration(now.Sub(then))
}

// Span is how long something took: tenths below a minute, then like an age.
func Span(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return duration.HumanDuration(d)
}

// Size is a number of bytes in binary units, one digit after the point.
func Size(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%dB", n)
	}
	v, suffix := float64(n)/unit, 0
	for v >= unit && suffix < 4 {
		v /= unit
		suffix++
	}
	return strings.Replace(fmt.Sprintf("%.1f%ciB", v, "KMGTP"[suffix]), ".0", "", 1)
}

// Plural writes "1 step", "2 steps".
func Plural(n int, noun string) string {
	if n == 1 || n == -1 {
		return fmt.Sprintf("%d %s", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
