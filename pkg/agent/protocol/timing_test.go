package protocol

import (
	"strings"
	"testing"
	"time"
)

func TestTiming(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*Timing)
		want   string
	}{
		{"the defaults hold", func(*Timing) {}, ""},
		{"a stop that is too short", func(t *Timing) { t.Stop = 1400 * time.Millisecond }, "raise stop"},
		{"a stop that the drift makes too short", func(t *Timing) { t.DriftPPM = 10_000 }, "raise stop"},
		{"a lease that an election outlasts", func(t *Timing) { t.Lease = 6 * time.Second }, "raise lease"},
		{"a lease that just fits", func(t *Timing) { t.Lease = 6*time.Second + time.Millisecond }, ""},
		{"a missing time", func(t *Timing) { t.ProbeAge = 0 }, "probeAge is 0s"},
		{"a drift below 0", func(t *Timing) { t.DriftPPM = -1 }, "driftPPM is -1"},
		{"a time that overflows", func(t *Timing) { t.Lease = 1 << 62 }, "at most 1h"},
	} {
		timing := DefaultTiming()
		c.change(&timing)
		switch err := timing.Check(); {
		case err == nil && c.want != "":
			t.Errorf("%s: accepted, want %q", c.name, c.want)
		case err != nil && (c.want == "" || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
