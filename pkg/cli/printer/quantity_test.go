package printer

import (
	"testing"
	"time"
)

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0B", 1023: "1023B", 1024: "1KiB", 1536: "1.5KiB", 5 << 30: "5GiB",
		1 << 62: "4096PiB"} {
		if got := Size(n); got != want {
			t.Errorf("size(%d) is %s, want %s", n, got, want)
		}
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0.0s", 1500 * time.Millisecond: "1.5s", 90 * time.Second: "90s",
		10 * time.Minute: "10m"} {
		if got := Span(d); got != want {
			t.Errorf("span(%s) is %s, want %s", d, got, want)
		}
	}
}

func TestAgeOfNothing(t *testing.T) {
	if got := Age(time.Now(), time.Time{}); got != Unknown {
		t.Error(got)
	}
}
