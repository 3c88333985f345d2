//go:build linux

package logfiles

import (
	"testing"
	"time"
)

func TestLate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		waits Waits
		want  bool
	}{
		"nothing waits":          {Waits{}, false},
		"some, for a moment":     {Waits{Files: 16, Since: time.Second}, false},
		"many, for a moment":     {Waits{Files: 17, Since: time.Second}, true},
		"one, for five minutes":  {Waits{Files: 1, Since: 5 * time.Minute}, false},
		"one, for a longer time": {Waits{Files: 1, Since: 5*time.Minute + time.Second}, true},
	} {
		if got := test.waits.Late(); got != test.want {
			t.Errorf("%s: it is worth a warning: %t", name, got)
		}
	}
}
