package lease

import (
	"testing"
	"time"
)

// TestMomentCountsSuspension: Go's own clock stops while the machine is
// suspended, and the wall clock does not; the wall clock can be set back, and
// the other one can't.
func TestMomentCountsSuspension(t *testing.T) {
	t0 := time.Now()
	for name, m := range map[string]moment{
		"suspended":                   {running: t0, wall: t0.Add(-20 * time.Second).Round(0)},
		"the wall clock was set back": {running: t0.Add(-20 * time.Second), wall: t0.Round(0)},
	} {
		if e := m.elapsed(); e < 20*time.Second || e > time.Minute {
			t.Errorf("%s: %s, want 20s", name, e)
		}
	}
	if e := now().elapsed(); e < 0 || e > time.Minute {
		t.Errorf("a moment ago is %s", e)
	}
}
