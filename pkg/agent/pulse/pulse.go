// Package pulse has what a process does now and then happen together: to wake up costs more than the work.
package pulse

import "time"

// origin is where the pulses of this process are counted from.
//
//nolint:gochecknoglobals // it never changes
var origin = time.Now()

// Next returns the time until the next pulse of an interval: all pulses of intervals that divide each other come at the
// same time. It is above 0, and at most the interval.
func Next(interval time.Duration) time.Duration {
	since := time.Since(origin) % interval
	if since < 0 {
		since += interval // a test has a clock of its own
	}
	return interval - since
}
