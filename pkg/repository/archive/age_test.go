package archive

import (
	"testing"
	"time"
)

func TestParseAge(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"": 0, "36h": 36 * time.Hour, "7d": 168 * time.Hour,
		"4w": 672 * time.Hour} {
		if got, err := ParseAge(text); err != nil || got != want {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
	for _, wrong := range []string{"7", "d", "0d", "-7d", "7 d", "7m", "1.5d", "99999999w", "101w0d", "36501d"} {
		if got, err := ParseAge(wrong); err == nil {
			t.Errorf("%q: %s", wrong, got)
		}
	}
}
